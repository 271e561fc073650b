"use strict";

const assert = require("node:assert/strict");
const test = require("node:test");
const { pageOf } = require("../lib/picture");

test("the picture is an image, in which no script can run", () => {
  const page = pageOf('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script><text>é</text></svg>');
  assert.ok(!page.includes("<script"));
  assert.ok(page.includes("default-src 'none'"));
  const image = Buffer.from(page.match(/base64,([^"]+)"/)[1], "base64").toString("utf-8");
  assert.ok(image.includes("<text>é</text>"));
});

test("without a picture the page says so", () => {
  for (const nothing of [undefined, null, ""]) assert.match(pageOf(nothing), /cannot be read yet/);
});
