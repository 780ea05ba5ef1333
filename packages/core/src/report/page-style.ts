const light = `--bg:#f5f6f7;--card:#fff;--sunk:#f2f4f6;--text:#1b2026;--muted:#57616c;--line:#d9dde2;--strong:#b9c0c8;--accent:#0a58a8;
--bad:#a0142c;--bad-bg:#fcf0f1;--waiting:#7d4700;--waiting-bg:#fdf5e6;--changed:#5a32a3;--changed-bg:#f5f1fc;--good:#1d6639;--good-bg:#eff7f1;`;
const dark = `--bg:#111417;--card:#191d21;--sunk:#12161a;--text:#e3e7eb;--muted:#a1abb5;--line:#2d343b;--strong:#47515b;--accent:#86bef6;
--bad:#ff9ea6;--bad-bg:#2f1a1d;--waiting:#efbf70;--waiting-bg:#2b2313;--changed:#c6b3ff;--changed-bg:#241d36;--good:#8dd3a5;--good-bg:#17281d;`;

/** The page's one style sheet. Its hash stands in the page's policy, so it holds nothing of a report. */
export const pageStyle = `
:root{color-scheme:light;${light}
--sans:system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Noto Sans","DejaVu Sans",sans-serif;
--mono:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono","DejaVu Sans Mono",monospace}
@media (prefers-color-scheme:dark){:root:not([data-theme=light]){color-scheme:dark;${dark}}}
:root[data-theme=dark]{color-scheme:dark;${dark}}
*{box-sizing:border-box}
[hidden]{display:none!important}
html{scroll-padding-top:5.5rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--text);font:400 1rem/1.55 var(--sans);overflow-wrap:anywhere}
h1,h2,h3,h4,h5,h6,p,ul,ol,dl,dd{margin:0;padding:0}
ul,ol{list-style:none}
code{font:.92em/1.4 var(--mono)}
.stand code,.verdict code,.allows code,.note code,.meta code{display:inline-block;max-width:100%}
a{color:var(--accent);text-underline-offset:.18em}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:4px}
.skip{position:absolute;left:-99rem}
.skip:focus{left:1rem;top:.5rem;z-index:9;background:var(--card);padding:.5rem 1rem}
.sr{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap}
.wide{max-width:62rem;margin:0 auto;padding:0 1.5rem}
header.top{padding:2.25rem 0 1.5rem}
header.top .wide{display:flex;gap:1rem;align-items:flex-start;justify-content:space-between}
h1{font-size:1.75rem;line-height:1.2;font-weight:680;letter-spacing:-.015em}
.lead{margin-top:.5rem;color:var(--muted);max-width:44rem}
h2{font-size:1.2rem;line-height:1.3;font-weight:660;letter-spacing:-.005em;margin-bottom:.25rem}
.about{color:var(--muted);font-size:.92rem;margin-bottom:1rem;max-width:44rem}
section.part{margin:0 0 2.75rem}
button,select,input{font:inherit;color:inherit}
button,select,input[type=search]{background:var(--card);border:1px solid var(--strong);border-radius:6px;min-height:2.5rem;padding:.3rem .7rem}
button{cursor:pointer;white-space:nowrap}
button:hover,select:hover{border-color:var(--muted)}
.tools{display:flex;gap:.5rem;flex:none}
.tiles{display:grid;grid-template-columns:repeat(8,1fr);gap:.5rem}
.tiles>div{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.6rem .8rem;display:flex;flex-direction:column-reverse;justify-content:flex-end}
.tiles dt{font-size:.84rem;line-height:1.35;color:var(--muted)}
.tiles dd{font-size:1.5rem;line-height:1.25;font-weight:620;font-variant-numeric:tabular-nums}
.tiles .some.bad dd{color:var(--bad)}.tiles .some.waiting dd{color:var(--waiting)}.tiles .some.changed dd{color:var(--changed)}
.tiles .none dd{color:var(--muted);font-weight:400}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1.2rem;margin-top:1.1rem;font-size:.95rem}
.facts dt{color:var(--muted)}
.badge{display:inline-block;border:1px solid currentColor;border-radius:999px;padding:0 .6em;font-size:.8rem;line-height:1.6;font-weight:600;color:var(--muted)}
.good{color:var(--good)}.bad{color:var(--bad)}.waiting{color:var(--waiting)}.changed{color:var(--changed)}
.badge.good{background:var(--good-bg)}.badge.bad{background:var(--bad-bg)}.badge.waiting{background:var(--waiting-bg)}.badge.changed{background:var(--changed-bg)}
.issues{border:1px solid var(--line);border-radius:8px;background:var(--card);overflow:hidden}
.issues li{display:grid;grid-template-columns:1.4rem 1fr;gap:.2rem .5rem;padding:.65rem .9rem;border-top:1px solid var(--line)}
.issues li:first-child{border-top:0}
.issues .meta{display:block}
.issues .why{display:block;color:var(--muted);font-size:.92rem}
.sign{font-weight:700;text-align:center}
.filters{position:sticky;top:0;z-index:5;background:var(--bg);border-bottom:1px solid var(--line);padding:.7rem 0 .55rem;margin-bottom:1.25rem}
.filters .row{display:grid;grid-template-columns:2fr repeat(4,1fr) auto;gap:.5rem;align-items:end}
.filters label{display:block;font-size:.78rem;color:var(--muted);line-height:1.4}
.filters select,.filters input{width:100%;min-width:0;text-overflow:ellipsis}
.filters [role=status]{font-size:.88rem;color:var(--muted);margin-top:.4rem}
.runhead{margin:0 0 1rem;padding:.9rem 1.1rem;background:var(--card);border:1px solid var(--line);border-left:4px solid var(--strong);border-radius:8px}
.run{margin-bottom:2rem}
.run h3,.run h5{font-size:1.05rem;font-weight:640;display:inline}
.runhead .badge{margin-left:.5rem}
.meta{color:var(--muted);font-size:.88rem;line-height:1.5}
.meta>span+span::before{content:"·";margin:0 .45em;color:var(--strong)}
.line{border-left:2px solid var(--line);margin-left:5.9rem}
.entry{position:relative;margin:0 0 .8rem 1.1rem}
.entry::before{content:"";position:absolute;left:calc(-1.1rem - 6px);top:1.05rem;width:10px;height:10px;border-radius:50%;background:var(--bg);border:2px solid var(--strong)}
.entry.tone-bad::before{border-color:var(--bad);background:var(--bad)}
.entry.tone-waiting::before{border-color:var(--waiting);background:var(--waiting)}
.entry.tone-changed::before{border-color:var(--changed);background:var(--changed)}
.entry>time{position:absolute;left:-7.1rem;width:5.2rem;top:.78rem;text-align:right;font:.78rem/1.5 var(--mono);color:var(--muted)}
.entry>article{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.7rem .95rem .8rem}
.entry>article:focus{outline:3px solid var(--accent);outline-offset:1px}
.entry>article:target{box-shadow:0 0 0 2px var(--changed)}
.entry h4,.entry h6{font-size:1rem;line-height:1.45;font-weight:600;display:inline}
.entry h4 .kind,.entry h6 .kind{font-weight:640}
.entry .head .badge{margin-left:.45rem}
.agent{color:var(--text);font-weight:560}
.boundary{margin-top:.6rem;display:grid;grid-template-columns:6.4rem 1fr;gap:.1rem .7rem;font-size:.92rem}
.boundary>.surface{font:.84rem/1.75 var(--mono);color:var(--muted)}
.verdict{padding:.02rem 0 .1rem}
.verdict .did{font-weight:640}
.verdict .how{color:var(--muted);font-size:.85rem}
.verdict .why{display:block}
.verdict.void .did,.verdict.void .why{text-decoration:line-through;text-decoration-thickness:1px}
.allows summary{color:var(--muted);cursor:pointer}
.allows summary .ok{color:var(--good);font-weight:600}
.allows ul{margin:.25rem 0 .4rem 1.1rem}
.content{margin-top:.65rem}
.content>.label{font-size:.8rem;color:var(--muted);display:block;margin-bottom:.15rem}
.content .label .mark{color:var(--changed);font-weight:600}
.text{white-space:pre-wrap;background:var(--sunk);border-radius:6px;padding:.5rem .7rem;border-left:3px solid var(--line)}
.text.data{font:.85rem/1.5 var(--mono)}
.content.is-changed .text{border-left-color:var(--changed)}
.more{display:block;margin-top:.3rem;font:.85rem/1.4 var(--sans);color:var(--muted)}
.long>summary{cursor:pointer;background:var(--sunk);border-radius:6px;padding:.4rem .7rem;border-left:3px solid var(--line)}
.long>summary .begin{white-space:pre-wrap}
.long[open]>summary .begin{display:none}
.long[open]>.text{margin-top:.3rem}
.note{margin-top:.55rem;font-size:.94rem}
.note.bad,.note.waiting{padding:.4rem .7rem;border-radius:6px}
.note.bad{background:var(--bad-bg)}.note.waiting{background:var(--waiting-bg)}
.person{margin-top:.6rem;padding:.55rem .75rem;border:1px dashed var(--strong);border-radius:6px;font-size:.94rem}
.person .decided{font-weight:600;display:block;margin-top:.15rem}
.person .meta{display:block;margin-top:.15rem}
.nest{margin:0 0 .9rem 1.1rem;padding-left:.6rem;border-left:2px solid var(--strong)}
.nest .line{margin-left:5.2rem}
.nest .nest{margin-left:.4rem}
.gap{margin:0 0 .8rem 1.1rem;color:var(--muted);font-size:.92rem}
.cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(18.5rem,1fr));gap:.7rem}
.cards>li{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:.75rem .95rem}
.cards h3{font-size:1rem;line-height:1.4;font-weight:620}
.cards .answers{margin-top:.35rem;font-size:.92rem}
.cards.wider{grid-template-columns:repeat(auto-fill,minmax(24rem,1fr))}
.stand dl{display:grid;grid-template-columns:6rem 1fr;gap:.15rem .6rem;margin-top:.5rem;font-size:.9rem}
.stand dt{color:var(--muted);font:.82rem/1.7 var(--mono)}
.stand .empty{color:var(--muted)}
table{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--line);font-size:.92rem;margin-bottom:1rem}
caption{text-align:left;font-weight:600;padding:.2rem 0 .35rem}
th,td{padding:.4rem .7rem;text-align:left;border-top:1px solid var(--line);vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
thead th{font-weight:560;color:var(--muted);border-top:0;font-size:.84rem}
tbody th{font-weight:500}
footer{border-top:1px solid var(--line);padding:1.25rem 0 3rem;color:var(--muted);font-size:.88rem}
dialog{border:1px solid var(--strong);border-radius:10px;background:var(--card);color:var(--text);padding:1.25rem 1.5rem;max-width:min(28rem,calc(100vw - 2rem))}
dialog::backdrop{background:rgb(0 0 0/.45)}
dialog dl{display:grid;grid-template-columns:max-content 1fr;gap:.3rem 1rem;margin:.8rem 0 1rem}
dialog label{display:flex;gap:.5rem;align-items:center;margin-bottom:1rem}
kbd{font:.85rem/1.5 var(--mono);border:1px solid var(--strong);border-bottom-width:2px;border-radius:4px;padding:0 .4em;background:var(--sunk)}
@media (max-width:60rem){.tiles{grid-template-columns:repeat(4,1fr)}.filters .row{grid-template-columns:1fr 1fr 1fr}.filters .find{grid-column:1/3}}
@media (max-width:44rem){
.wide{padding:0 1rem}
header.top{padding:1.4rem 0 1.1rem}
h1{font-size:1.4rem}
.tiles{grid-template-columns:1fr 1fr}
.facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.4rem}
.filters{position:static}
.filters .row{grid-template-columns:1fr 1fr}.filters .find{grid-column:1/-1}
html{scroll-padding-top:1rem}
.line,.nest .line{margin-left:.3rem}
.entry>time{position:static;display:block;width:auto;text-align:left;margin-bottom:.1rem}
.entry::before{top:.35rem}
.boundary{grid-template-columns:1fr}
.nest{margin-left:.4rem;padding-left:.35rem}
.cards,.cards.wider{grid-template-columns:1fr}
th,td{padding:.35rem .45rem}
.help{display:none}
}
@media (prefers-reduced-motion:no-preference){html{scroll-behavior:smooth}}
@media (forced-colors:active){.entry::before{background:CanvasText}}
@media print{
:root:root:root{color-scheme:light;${light}}
body{background:#fff;font-size:10pt}
.filters,.tools,.skip,dialog{display:none!important}
.entry,.runhead,.cards>li{break-inside:avoid}
details::details-content{content-visibility:visible;block-size:auto}
.long>summary .begin{display:none}
a{color:inherit;text-decoration:none}
}
`;

/** sha256 of the style sheet, base64, for the page's policy. */
export const pageStyleHash = 'VJ5Ml4RQro1gRqgagpzGgdCCWtp9zS8JEFRF/viJVxo=';
