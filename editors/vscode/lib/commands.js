// Command lines: that of the server, and those that are typed into a terminal.
"use strict";

/** The command with `${workspaceFolder}` put in, as {command, args}. */
function serverOf(settings, folder) {
  return { command: inFolder(settings.compiler || "noetlc", folder), args: ["lsp", "--stdio"] };
}

/** A line for the terminal that runs or tests a file. */
function terminalLine(settings, folder, command, file, platform) {
  return [inFolder(settings.runtime || "noetl", folder), command, file].map((word) => quoted(word, platform)).join(" ");
}

function inFolder(command, folder) {
  return command.replaceAll("${workspaceFolder}", folder ?? ".");
}

/** A word as the platform's shell takes it for one word. */
function quoted(word, platform) {
  if (/^[\w@%+=:,./\\-]+$/.test(word)) return word;
  if (platform === "win32") return `"${word.replaceAll('"', '""')}"`;
  return `'${word.replaceAll("'", "'\\''")}'`;
}

module.exports = { serverOf, terminalLine, quoted };
