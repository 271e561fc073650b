"use strict";

const assert = require("node:assert/strict");
const { execFileSync } = require("node:child_process");
const test = require("node:test");
const { quoted, serverOf, terminalLine } = require("../lib/commands");

test("the server is the command of the settings, in the folder that is open", () => {
  assert.deepEqual(serverOf({}, "/w"), { command: "noetlc", args: ["lsp", "--stdio"] });
  assert.equal(serverOf({ compiler: "${workspaceFolder}/.venv/bin/noetlc" }, "/w").command, "/w/.venv/bin/noetlc");
  assert.equal(serverOf({ compiler: "${workspaceFolder}/x" }, undefined).command, "./x");
});

test("a file with any name is one word of the line", () => {
  assert.equal(terminalLine({}, "/w", "run", "/w/a.yaml", "linux"), "noetl run /w/a.yaml");
  assert.equal(quoted("a b.yaml", "win32"), '"a b.yaml"');
});

test("a shell takes what was quoted for what it was", { skip: process.platform === "win32" }, () => {
  for (const name of ["a b.yaml", "it's.yaml", "$(touch x).yaml", "a;b.yaml", 'q".yaml', "`id`", "*", "~", ""]) {
    assert.equal(execFileSync("sh", ["-c", `printf %s ${quoted(name, "linux")}`], { encoding: "utf-8" }), name);
  }
});
