"""The look of an answer's page, light and dark, on paper and on a small screen."""

STYLE = """
:root{color-scheme:light dark;--ink:#1d2430;--dim:#5b6575;--line:#d9dee6;--card:#f6f8fa;--accent:#1f5fae;--mark:#ffe9a3;
--on-mark:#1d2430;--good:#17663a;--good-bg:#dff3e6;--bad:#9d1c2b;--bad-bg:#fbe3e6;--warn:#7a5200;--warn-bg:#fdf0cf}
@media (prefers-color-scheme:dark){:root{--ink:#e4e8ee;--dim:#9aa5b4;--line:#333c49;--card:#1b222c;--accent:#84b6f4;
--mark:#6b5410;--on-mark:#fff6da;--good:#8fdcae;--good-bg:#173a26;--bad:#f5a3ad;--bad-bg:#471a21;--warn:#f1cd7c;
--warn-bg:#44340c}body{background:#12171e}}
*{box-sizing:border-box}
body{font:16px/1.6 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);max-width:54rem;margin:0 auto;
padding:2.5rem 1.25rem 5rem;overflow-wrap:anywhere}
h1{font-size:1.75rem;line-height:1.25;margin:0 0 1rem;letter-spacing:-.01em}
h2{font-size:1.2rem;margin:2.2rem 0 .7rem}h3{font-size:1.02rem;margin:0 0 .2rem;line-height:1.4}
h4{margin:0 0 .3rem;font-size:.8rem;text-transform:uppercase;letter-spacing:.06em;color:var(--dim)}
p{margin:.5rem 0}a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
ul,ol{padding-left:1.4rem;margin:.5rem 0}li{margin:.35rem 0}
.facts{display:flex;flex-wrap:wrap;gap:.4rem 1.6rem;margin:0 0 1rem;font-size:.86rem}.facts dt{color:var(--dim)}
.facts dd{margin:0;font-weight:600}nav{display:flex;flex-wrap:wrap;gap:1.2rem;padding:.6rem 0;font-size:.9rem;
border-top:1px solid var(--line);border-bottom:1px solid var(--line)}
.notices{list-style:none;padding:.6rem .9rem;background:var(--warn-bg);color:var(--warn);border-radius:.5rem}
.answer h2:first-child{margin-top:1.6rem}.answer>h2:first-child+p{font-size:1.08rem}
.abstained{background:var(--warn-bg);border-radius:.5rem;padding:.1rem 1rem 1rem;margin-top:1.5rem}
section+section{border-top:1px solid var(--line);margin-top:2.5rem}
.split{background:var(--card);border:1px solid var(--line);border-radius:.6rem;padding:1rem;margin:.8rem 0}
.sides{display:grid;grid-template-columns:repeat(auto-fit,minmax(15rem,1fr));gap:1rem;margin:.8rem 0}
.side{border-left:3px solid var(--accent);padding-left:.8rem}.side+.side{border-color:var(--bad)}
article{border:1px solid var(--line);border-radius:.6rem;padding:1rem 1.1rem .4rem;margin:1rem 0}
.place{color:var(--dim);font-size:.85rem;margin:.2rem 0}
.quote{border-top:1px solid var(--line);padding:.7rem 0;margin-top:.7rem;scroll-margin-top:1rem}
.quote:target{background:var(--card);box-shadow:-1.1rem 0 0 var(--card),1.1rem 0 0 var(--card)}
.where{font-size:.9rem;margin:0 0 .3rem}.number{font-weight:700;margin-right:.3rem}
blockquote{margin:0;line-height:1.55}blockquote span{color:var(--dim);font-size:.95em}
mark{background:var(--mark);color:var(--on-mark);padding:.08em .12em;border-radius:.15em;
-webkit-box-decoration-break:clone;box-decoration-break:clone}
.pill{display:inline-block;font-size:.78rem;font-weight:600;padding:.05rem .5rem;border-radius:1rem;white-space:nowrap}
.good{color:var(--good)}.bad{color:var(--bad)}.warn{color:var(--warn)}
.pill.good{background:var(--good-bg)}.pill.bad{background:var(--bad-bg)}.pill.warn{background:var(--warn-bg)}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;margin:.6rem 0}
th{text-align:left;color:var(--dim);font-weight:600;border-bottom:2px solid var(--line);padding:.35rem .6rem}
td{vertical-align:top;border-bottom:1px solid var(--line);padding:.45rem .6rem}td p{margin:0}
th{white-space:nowrap}td{overflow-wrap:break-word}td:first-child{min-width:9rem}td:last-child{min-width:9.5rem}
th:first-child,td:first-child{padding-left:0}
th.num,td.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}.nowrap{white-space:nowrap}
.bar{display:block;height:3px;background:var(--accent);margin:.25rem 0 0 auto;border-radius:2px}
details summary{cursor:pointer;color:var(--accent)}pre{white-space:pre-wrap;font-size:.78rem;margin:.3rem 0}
@media print{nav,details{display:none}body{max-width:none;padding:0}article,.split{break-inside:avoid}}
"""
