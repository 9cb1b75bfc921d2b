/* SPDX-License-Identifier: MIT */
/*
 * report_style: the page's one style sheet. Its hash is in the page's policy, so
 * that no other style can come in. Blue, sky and orange stay apart for people
 * who see fewer colours, and by lightness in print.
 */
#ifndef TOOLS_REPORT_REPORT_STYLE_H
#define TOOLS_REPORT_REPORT_STYLE_H

#define REPORT_STYLE \
	":root{color-scheme:light dark;--page:#fff;--text:#1b1f24;--soft:#57606a;--line:#d0d7de;" \
	"--panel:#f6f8fa;--one:#0b63a8;--two:#4a9bd3;--three:#d2690a;--four:#8a6d1d;--warn:#fff4d6;" \
	"--edge:#b07900}\n" \
	"@media screen and (prefers-color-scheme:dark){:root{--page:#0f1419;--text:#e6e9ed;" \
	"--soft:#a3adb8;--line:#38424d;--panel:#1a2129;--one:#4d9fe0;--two:#a5d3f2;--three:#f0953f;" \
	"--four:#d3b557;--warn:#3a2f10;--edge:#d9a21b}}\n" \
	"*{box-sizing:border-box}\n" \
	"body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:64rem;background:var(--page);" \
	"color:var(--text);font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}\n" \
	"h1{font-size:1.6rem;line-height:1.2;margin:0 0 .25rem}\n" \
	"h2{font-size:1.2rem;margin:2.5rem 0 .5rem;padding-top:.6rem;border-top:1px solid var(--line)}\n" \
	"h3{font-size:1rem;margin:1.5rem 0 .4rem}\n" \
	"p{margin:.4rem 0;max-width:46rem}.soft{color:var(--soft);font-size:.9rem}\n" \
	"code{font-family:ui-monospace,monospace;font-size:.9em}\n" \
	".note{margin:1rem 0;padding:.6rem .9rem;background:var(--warn);" \
	"border-left:4px solid var(--edge)}\n" \
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.75rem;" \
	"margin:1.25rem 0;padding:0}\n" \
	".tiles div{padding:.7rem .9rem;background:var(--panel);border:1px solid var(--line);" \
	"border-radius:.4rem}\n" \
	".tiles dt{color:var(--soft);font-size:.85rem}\n" \
	".tiles dd{margin:0;font-size:1.45rem;line-height:1.3;font-weight:600}\n" \
	".tiles dd.soft{font-size:.85rem;font-weight:400}\n" \
	"figure{margin:1rem 0}\n" \
	".legend{display:flex;flex-wrap:wrap;gap:.25rem 1.25rem;list-style:none;margin:0 0 .6rem;" \
	"padding:0;font-size:.9rem}\n" \
	".key{width:.8em;height:.8em;margin-right:.4em}\n" \
	".chart{display:grid;grid-template-columns:max-content minmax(0,1fr);column-gap:.5rem}\n" \
	".beside{display:flex;flex-direction:column;justify-content:space-between;text-align:right;" \
	"font-size:.8rem;line-height:1;color:var(--soft);margin:-.4rem 0}.chart{padding-top:.4rem}\n" \
	".plot{display:block;width:100%;height:13rem;overflow:visible}\n" \
	".below{grid-column:2;display:flex;justify-content:space-between;font-size:.8rem;" \
	"color:var(--soft);padding-top:.35rem}\n" \
	".grid,.axis{stroke:var(--line);vector-effect:non-scaling-stroke}.axis{stroke:var(--soft)}\n" \
	".one{fill:var(--one)}.two{fill:var(--two)}.three{fill:var(--three)}.four{fill:var(--four)}\n" \
	".rest{fill:var(--line)}\n" \
	".bar{display:block;width:100%;height:.5rem;margin:.15rem 0 .1rem}\n" \
	/* Its edges are shaded where there is more beyond them. */ \
	".scroll{overflow-x:auto;background:linear-gradient(90deg,var(--page) 40%,transparent) 0 0/2rem " \
	"100% no-repeat local,linear-gradient(270deg,var(--page) 40%,transparent) 100% 0/2rem 100% " \
	"no-repeat local,linear-gradient(90deg,var(--line),transparent) 0 0/.8rem 100% no-repeat scroll," \
	"linear-gradient(270deg,var(--line),transparent) 100% 0/.8rem 100% no-repeat scroll}\n" \
	"table{width:100%;border-collapse:collapse;font-size:.92rem;font-variant-numeric:tabular-nums}\n" \
	"th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:left;" \
	"vertical-align:top}\n" \
	"th:first-child,td:first-child{padding-left:0}th:last-child,td:last-child{padding-right:0}\n" \
	"thead th{color:var(--soft);font-weight:600;vertical-align:bottom}\n" \
	"tbody th{font-weight:400;min-width:9rem}.scroll tbody th{width:100%}data{white-space:nowrap}\n" \
	"table .n{text-align:right;white-space:nowrap}\n" \
	"footer{margin-top:2.5rem}\n" \
	"details{margin:.6rem 0}summary{cursor:pointer;color:var(--soft);font-size:.9rem}\n" \
	/* Where there is little room, a row's numbers stand below its name. */ \
	"@media screen and (max-width:40rem){.plot{height:10rem}.tiles{grid-template-columns:1fr 1fr}" \
	".tiles dd{font-size:1.2rem}.tiles div:last-child{grid-column:1/-1}table{font-size:.85rem}" \
	".scroll tr{display:flex;flex-wrap:wrap;padding:.4rem 0;border-bottom:1px solid var(--line)}" \
	".scroll th,.scroll td{flex:1 1 0;min-width:0;border:0;padding:0 .4rem 0 0}" \
	".scroll .n{text-align:left;white-space:normal}.scroll data{white-space:normal}" \
	".scroll tr>:first-child{flex:0 0 100%}}\n" \
	"@media print{body{max-width:none;padding:0;font-size:10pt}h2,h3,.legend,p.soft{break-after:avoid}" \
	".tiles{grid-template-columns:repeat(5,1fr)}.tiles dd{font-size:.95rem}" \
	"tr,figure,.chart,.tiles div{break-inside:avoid}.scroll{overflow:visible;background:none}" \
	"details:not([open]){display:none}}\n"

#endif
