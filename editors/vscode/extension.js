// The extension: starts `noetlc lsp`, and shows pictures of the playbook in the editor. What needs no editor is in lib/.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");
const { serverOf, terminalLine } = require("./lib/commands");
const { pageOf } = require("./lib/picture");

/** The picture is asked for again when the text has rested for so many milliseconds. */
const REST = 300;

let client;

async function activate(context) {
  const register = (name, action) => context.subscriptions.push(vscode.commands.registerCommand(name, action));
  register("noetl.restart", () => start());
  register("noetl.run", (uri) => inTerminal("run", uri));
  register("noetl.test", (uri) => inTerminal("test", uri));
  register("noetl.picture", (uri, number) => showPicture(context, uri, number));
  await start();
}

async function deactivate() {
  await client?.stop();
}

async function start() {
  await client?.stop();
  const { command, args } = serverOf(settings(), folder());
  client = new LanguageClient(
    "noetl",
    "NoETL",
    { command, args, options: { cwd: folder() } },
    {
      documentSelector: [{ language: "yaml" }],
      synchronize: { fileEvents: vscode.workspace.createFileSystemWatcher("**/{*.yaml,*.yml,noetlc.toml,pyproject.toml}") },
    },
  );
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    const chosen = await vscode.window.showErrorMessage(
      `NoETL: ${command} did not start (${error.message}). It comes with: pip install 'noetlc[lsp]'`,
      "Settings",
    );
    if (chosen) vscode.commands.executeCommand("workbench.action.openSettings", "noetl.compiler");
  }
}

function settings() {
  const found = vscode.workspace.getConfiguration("noetl");
  return { compiler: found.get("compiler"), runtime: found.get("runtime") };
}

function folder() {
  return vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
}

function target(uri) {
  return uri ? vscode.Uri.parse(String(uri)) : vscode.window.activeTextEditor?.document.uri;
}

function inTerminal(command, uri) {
  const file = target(uri);
  if (!file) return;
  const terminal = vscode.window.terminals.find((one) => one.name === "NoETL") ?? vscode.window.createTerminal("NoETL");
  terminal.show(true);
  terminal.sendText(terminalLine(settings(), folder(), command, file.fsPath, process.platform));
}

function showPicture(context, uri, number = 0) {
  const file = target(uri);
  if (!file) return;
  const panel = vscode.window.createWebviewPanel("noetl.picture", "Picture", vscode.ViewColumn.Beside, {
    enableScripts: false,
  });
  let asked = 0;
  const draw = async () => {
    const turn = ++asked;
    const found = await client?.sendRequest("noetlc/picture", { uri: file.toString(), document: number, level: "steps" });
    // Of two answers that cross, the later question counts.
    if (turn === asked) panel.webview.html = pageOf(found?.svg);
  };
  let timer;
  const watching = vscode.workspace.onDidChangeTextDocument((event) => {
    if (event.document.uri.toString() !== file.toString()) return;
    clearTimeout(timer);
    timer = setTimeout(draw, REST);
  });
  panel.onDidDispose(() => {
    clearTimeout(timer);
    watching.dispose();
  });
  draw();
}

module.exports = { activate, deactivate };
