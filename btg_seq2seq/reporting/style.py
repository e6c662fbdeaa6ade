"""The style sheet of reports: light and dark, from a phone to a wide screen."""

from __future__ import annotations

from btg_seq2seq.drawing.colours import DARK, LIGHT, Theme, ThemeName

LAYOUT = """
*{box-sizing:border-box}
body{margin:0 auto;padding:1.4rem 1rem 4rem;max-width:84rem;line-height:1.5;
background:var(--background);color:var(--ink);
font-family:system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif}
h1{font-size:1.5rem;margin:0 0 .3rem}
h2{font-size:1.2rem;margin:2.8rem 0 .2rem;padding-top:.2rem}
h3{font-size:.98rem;margin:0}
p{margin:.2rem 0;overflow-wrap:anywhere}
a{color:inherit}
nav{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;font-size:.92rem;margin:.6rem 0 0}
.note,.stage{font-size:.85rem;color:var(--note)}
.runs,.charts,.cards{display:grid;gap:1rem;margin:1rem 0;align-items:start}
.runs{grid-template-columns:repeat(auto-fill,minmax(min(100%,21rem),1fr))}
.charts{grid-template-columns:repeat(auto-fill,minmax(min(100%,22rem),1fr))}
.charts{align-items:stretch}
.cards{grid-template-columns:repeat(auto-fill,minmax(min(100%,27rem),1fr))}
.run,.plot,.card{border:1px solid var(--frame);border-radius:12px;padding:.8rem .9rem;min-width:0;
margin:0;background:var(--raised)}
.plot{display:flex;flex-direction:column}
.run h2{margin:0;padding:0;font-size:1.05rem;display:flex;gap:.5rem;align-items:center;
overflow-wrap:anywhere}
.run h2::before,.chip::before{content:"";flex:none;display:inline-block;width:.8em;height:.8em;
border-radius:50%;background:var(--colour)}
.chip::before{margin-inline-end:.35em}
.chip{font-weight:600;color:var(--ink)}
.mode{font-weight:600;color:var(--ink)}
.figures{display:flex;flex-wrap:wrap;gap:.6rem 1.6rem;margin:.7rem 0 0}
.figures div{display:flex;flex-direction:column-reverse}
.figures dt{font-size:.78rem;color:var(--note)}
.figures dd{margin:0;font-size:1.25rem;font-weight:600;font-variant-numeric:tabular-nums;
line-height:1.2}
.problem{font-size:.85rem;color:var(--warning);margin:.5rem 0 0}
.legend{display:flex;flex-wrap:wrap;gap:.05rem .9rem;list-style:none;margin:.3rem 0 0;padding:0;
font-size:.8rem;color:var(--note)}
.legend li{display:flex;align-items:center;gap:.4em;overflow-wrap:anywhere;min-width:0}
.legend svg{flex:none}
.legend b{color:var(--ink);font-weight:600;font-variant-numeric:tabular-nums}
.chart{display:block;width:100%;height:auto;margin:auto 0 0;padding-top:.4rem;overflow:visible}
.chart text{font-size:11.5px;fill:var(--note);text-anchor:middle}
.chart .end{text-anchor:end}
.grid{stroke:var(--grid)}
.axis,.tick{stroke:var(--frame)}
.mark{stroke:var(--note);stroke-dasharray:1 4;stroke-width:1.5;stroke-linecap:round}
.line{fill:none;stroke:var(--colour);stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}
.line.faint{stroke-width:1.4;opacity:.5}
.line.dashed{stroke-dasharray:6 4.5}
.dot{fill:var(--colour)}
.dot.dashed{fill:var(--raised);stroke:var(--colour);stroke-width:1.6}
.strip rect{fill:transparent}
.strip path{stroke:var(--note);opacity:0}
.strip:hover path{opacity:.6}
.band{stroke:var(--raised);stroke-width:1}
.swatch{width:.85em;height:.85em;border-radius:3px;flex:none}
.example{border-top:1px solid var(--frame);padding:.5rem 0}
.example>summary{font-weight:600;cursor:pointer;padding:.3rem 0;overflow-wrap:anywhere}
summary{cursor:pointer;padding:.4rem 0}
.picture{overflow-x:auto;margin:.6rem 0 0}
.picture svg{display:block;margin:0 auto;max-width:100%;height:auto}
.picture svg .f{fill:none;stroke:none}
.table{overflow-x:auto;margin:.5rem 0}
table{border-collapse:collapse;font-size:.88rem}
th,td{text-align:start;vertical-align:top;padding:.3rem 1.2rem .3rem 0;
border-bottom:1px solid var(--grid);overflow-wrap:anywhere}
td{min-width:6rem;max-width:26rem;font-variant-numeric:tabular-nums}
tbody th{font-weight:400;color:var(--note);white-space:nowrap;padding-inline-start:.5rem}
.marked{background:var(--highlight)}
.marked th{color:var(--ink);font-weight:600}
footer{margin-top:3rem}
@media (max-width:40rem){body{padding:1rem .8rem 3rem}tbody th{white-space:normal}
.run,.plot,.card{padding:.7rem .7rem}th,td{padding-inline-end:.7rem}}
@media print{.card,.plot,.run{break-inside:avoid}}
"""
LENGTHS = {
    "light": ("#1f4e8c", "#4191f9", "#9cc6fb", "#d9e8fc"),
    "dark": ("#cfe3ff", "#7fb2f5", "#3f77c0", "#24426b"),
}


def report_style(theme: ThemeName) -> str:
    """Write the style sheet; ``auto`` follows the reader's settings."""
    runs = "".join(f".run{rank}{{--colour:var(--run{rank})}}" for rank in range(len(LIGHT.pairs)))
    bands = "".join(
        f".band{rank}{{fill:var(--band{rank});background:var(--band{rank})}}" for rank in range(4)
    )
    light = _variables(LIGHT, "light", raised="#ffffff", page="#f6f8fa")
    dark = _variables(DARK, "dark", raised="#161b22", page="#0d1117")
    if theme == "light":
        colours = light
    elif theme == "dark":
        colours = dark
    else:
        colours = f"{light}@media (prefers-color-scheme:dark){{{dark}}}"
    return LAYOUT + colours + runs + bands


def _variables(theme: Theme, name: str, *, raised: str, page: str) -> str:
    values = {
        "background": page,
        "raised": raised,
        "ink": theme.ink,
        "note": theme.note,
        "frame": theme.frame,
        "grid": "#e6eaef" if name == "light" else "#2a3038",
        "warning": theme.inverted,
        "highlight": "#fff3c4" if name == "light" else "#3a3215",
        **{f"run{rank}": colour for rank, colour in enumerate(theme.pairs)},
        **{f"band{rank}": colour for rank, colour in enumerate(LENGTHS[name])},
    }
    return ":root{" + ";".join(f"--{key}:{value}" for key, value in values.items()) + "}"
