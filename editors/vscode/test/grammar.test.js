"use strict";

const assert = require("node:assert/strict");
const { readFileSync } = require("node:fs");
const { join } = require("node:path");
const test = require("node:test");

const read = (name) => JSON.parse(readFileSync(join(__dirname, "..", name), "utf-8"));
const grammar = read("syntaxes/playbook.tmLanguage.json");

function* patterns(node) {
  if (Array.isArray(node)) for (const one of node) yield* patterns(one);
  else if (node && typeof node === "object") {
    yield node;
    for (const one of Object.values(node)) yield* patterns(one);
  }
}

/** The scopes of the words of an expression, by the first pattern that fits at each place, as an editor does it. */
function scopes(text) {
  const rules = grammar.repository.words.patterns.map((one) => [new RegExp(one.match, "y"), one.name]);
  const found = [];
  for (let at = 0; at < text.length; ) {
    const hit = rules.find(([rule]) => ((rule.lastIndex = at), rule.test(text)) && rule.lastIndex > at);
    if (hit) found.push([text.slice(at, hit[0].lastIndex).trim(), hit[1].split(".").slice(0, -1).join(".")]);
    at = hit ? hit[0].lastIndex : at + 1;
  }
  return found;
}

test("every pattern is one, and every rule that is included is there", () => {
  for (const one of patterns(grammar)) {
    for (const key of ["match", "begin", "end"]) if (key in one) new RegExp(one[key]);
    if (one.include?.startsWith("#")) assert.ok(one.include.slice(1) in grammar.repository, one.include);
  }
  assert.equal(read("package.json").contributes.grammars[0].scopeName, grammar.scopeName);
});

test("the words of an expression", () => {
  assert.deepEqual(scopes("workload.city | upper"), [
    ["workload", "variable.language"],
    [".city", "variable.other.property"],
    ["|", "keyword.operator"],
    ["upper", "support.function.filter"],
  ]);
  assert.deepEqual(scopes("x.ctx == 'a b' and not none"), [
    ["x", "variable.other"],
    [".ctx", "variable.other.property"],
    ["==", "keyword.operator"],
    ["'a b'", "string.quoted"],
    ["and", "keyword.operator.word"],
    ["not", "keyword.operator.word"],
    ["none", "constant.language"],
  ]);
});

test("blocks of code and SQL begin at their keys", () => {
  const { python, sql } = grammar.repository;
  assert.match("      code: |", new RegExp(python.begin));
  assert.match("  - code: |-", new RegExp(python.begin));
  assert.doesNotMatch("      code: result = 1", new RegExp(python.begin));
  assert.match("    query: >", new RegExp(sql.begin));
});
