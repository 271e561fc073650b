"""The style of the HTML page; what is drawn in it has its own sheet (`style`)."""

STYLE = """
:root{color-scheme:light dark;--bg:#fff;--fg:#1b2733;--dim:#54616e;--line:#c3ccd5;--bar:#f4f6f8;
--hit:#ffd54a;--on:#0072b2}
@media (prefers-color-scheme:dark){:root{--bg:#14191f;--fg:#e8edf2;--dim:#aab5c0;--line:#3b4754;--bar:#1b222a;
--hit:#b38600;--on:#5cb8f0}}
*{box-sizing:border-box}
html,body{height:100%;margin:0}
body{display:flex;flex-direction:column;background:var(--bg);color:var(--fg);font:14px/1.45 system-ui,sans-serif}
header{display:flex;flex-wrap:wrap;gap:8px;align-items:center;padding:8px 14px;background:var(--bar);
border-bottom:1px solid var(--line)}
h1{font-size:16px;margin:0 auto 0 0;overflow-wrap:anywhere}
button,input,select{font:inherit;color:var(--fg);background:var(--bg);border:1px solid var(--line);border-radius:6px;
padding:4px 10px}
button{cursor:pointer}
button:focus-visible,input:focus-visible{outline:2px solid var(--on)}
#count{color:var(--dim);min-width:3em}
main{flex:1;display:flex;min-height:0}
#stage{flex:1;position:relative;overflow:hidden;touch-action:none;cursor:grab}
#stage.drag{cursor:grabbing}
.view{width:100%;height:100%;display:block}
#side{width:min(400px,40vw);overflow:auto;border-left:1px solid var(--line);padding:12px 16px;background:var(--bar)}
#side h2{font-size:15px;margin:0 0 6px;overflow-wrap:anywhere}
#side h3{font-size:12px;margin:14px 0 4px;color:var(--dim);text-transform:uppercase;letter-spacing:.05em}
#side p{margin:2px 0;overflow-wrap:anywhere}
#side svg{max-width:100%;height:auto}
#side button{margin:2px 0;display:block;text-align:left}
pre{margin:4px 0;padding:8px 0;background:var(--bg);border:1px solid var(--line);border-radius:6px;overflow:auto;
font:12px/1.5 ui-monospace,monospace;tab-size:2}
pre div{padding:0 10px;white-space:pre}
pre .on{background:color-mix(in srgb,var(--on) 18%,transparent)}
pre span{display:inline-block;width:3.5em;color:var(--dim);user-select:none}
.node,.edge{cursor:pointer}
.gone{display:none}
.hit>.b{stroke:var(--hit)!important;stroke-width:4!important}
.faint{opacity:.25}
.on>.b,.on>.e{stroke:var(--on)!important;stroke-width:3.5!important}
.badge rect{fill:var(--bg);stroke:var(--dim)}
.badge text{font-size:10px;font-weight:bold;fill:var(--fg)}
.badge{cursor:pointer}
.wrapped>.b{stroke-dasharray:5 3}
noscript p{padding:4px 14px}
@media (max-width:720px){main{flex-direction:column}
#side{width:auto;height:38%;border-left:0;border-top:1px solid var(--line)}}
"""
