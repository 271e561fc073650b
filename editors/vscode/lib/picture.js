// The page of the picture panel: the SVG of the server and nothing else, without scripts.
"use strict";

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/** The page with a picture, or with a line where there is none. */
function pageOf(svg) {
  const body = svg
    ? `<img alt="the picture of the playbook" src="data:image/svg+xml;base64,${Buffer.from(svg, "utf-8").toString("base64")}">`
    : "<p>The playbook cannot be read yet: its picture comes back with the next text that can.</p>";
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<style>body { margin: 0; padding: 1em; } img { max-width: 100%; }</style>
<title>Picture</title>
</head>
<body>${body}</body>
</html>
`;
}

module.exports = { pageOf };
