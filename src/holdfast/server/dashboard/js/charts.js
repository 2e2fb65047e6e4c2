// SVG charts. Each is a figure with a legend, arrow-key navigation and a table of its numbers.

import { h, replace, s } from "./dom.js";
import { number, t } from "./i18n.js";

const HEIGHT = 220;
const EDGE = { top: 12, right: 8, bottom: 26, left: 46 };

/**
 * What a chart shows. `axis` formats the numbers of the axis if they differ from `format`.
 * @typedef {{title: string, note?: string, labels: string[], series: {name: string, tint: number, values: any[]}[],
 *   heading: string, format?: (value: number) => string, axis?: (value: number) => string}} Chart
 */

/**
 * A figure with a chart. `draw(width)` returns the SVG and is called again whenever the width changes.
 * @param {Chart} chart
 * @param {{draw: (width: number) => Element, walk: (index: number, width: number) => number, isEmpty: boolean}} how
 */
function figure(chart, { draw, walk, isEmpty }) {
  const { title, note, series, labels, heading, format = number } = chart;
  const plot = h("div.plot", { tabindex: "0", role: "group", "aria-label": t("chart.walk", { title }) });
  const tip = h("div.tip", { role: "status", hidden: true });
  let width = 0;
  let at = -1;
  const redraw = () => {
    if (width < 40) return;
    replace(plot, draw(width), tip);
    show(at);
  };
  const show = (index) => {
    at = Math.max(-1, Math.min(labels.length - 1, index));
    const guide = plot.querySelector(".guide");
    tip.hidden = at < 0 || !guide;
    guide?.classList.toggle("on", at >= 0);
    if (!guide || tip.hidden) return;
    const x = walk(at, width);
    guide.setAttribute("d", `M${x.toFixed(1)} ${EDGE.top}V${HEIGHT - EDGE.bottom}`);
    replace(tip, h("strong", {}, labels[at]), tipRows(series, at, format));
    tip.style.setProperty("left", `${Math.max(0, Math.min(x + 12, width - 170))}px`);
  };
  const nearest = (x) =>
    labels.reduce((best, _, index) => {
      return Math.abs(walk(index, width) - x) < Math.abs(walk(best, width) - x) ? index : best;
    }, 0);
  listen(plot, { labels, nearest, show, current: () => at });
  new ResizeObserver(([entry]) => {
    if (Math.abs(entry.contentRect.width - width) > 1) {
      width = entry.contentRect.width;
      redraw();
    }
  }).observe(plot);
  const caption = h("figcaption", {}, h("h3", {}, title), note && h("p", {}, note));
  if (isEmpty) return h("figure.chart", {}, caption, h("p.quiet", {}, t("chart.none")));
  return h("figure.chart", {}, caption, plot, legend(series), table({ title, series, labels, heading, format }));
}

function tipRows(series, at, format) {
  return series.map((one) =>
    h(
      "span.tip-row",
      {},
      h("span.swatch", { class: `tint-${one.tint}` }),
      h("span", {}, one.name),
      h("b", {}, one.values[at] === null ? "–" : format(one.values[at])),
    ),
  );
}

function legend(series) {
  if (series.length < 2) return null;
  return h(
    "ul.legend",
    {},
    series.map((one) => h("li", {}, h("span.swatch", { class: `tint-${one.tint}` }), one.name)),
  );
}

/** Move the guide with the pointer and the arrow keys. */
function listen(plot, { labels, nearest, show, current }) {
  plot.addEventListener("pointermove", (event) => {
    const x = event.clientX - plot.getBoundingClientRect().left;
    show(labels.length ? nearest(x) : -1);
  });
  plot.addEventListener("pointerleave", () => show(-1));
  plot.addEventListener("blur", () => show(-1));
  plot.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) {
      event.preventDefault();
      show(current() < 0 ? (step > 0 ? 0 : labels.length - 1) : Math.max(0, current() + step));
    }
    if (event.key === "Escape") show(-1);
  });
}

function table({ title, series, labels, heading, format }) {
  return h(
    "details.numbers",
    {},
    h("summary", {}, t("chart.table")),
    h(
      "div.scroll",
      {},
      h(
        "table",
        {},
        h("caption.visually-hidden", {}, title),
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, heading),
            series.map((one) => h("th", { scope: "col" }, one.name)),
          ),
        ),
        h(
          "tbody",
          {},
          labels.map((label, index) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, label),
              series.map((one) => h("td", {}, one.values[index] === null ? "–" : format(one.values[index]))),
            ),
          ),
        ),
      ),
    ),
  );
}

/** Round tick values for an axis from 0 to at least `max`. */
export function ticks(max, count = 4) {
  if (!(max > 0)) return [0, 1];
  const rough = max / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((each) => each * power).find((each) => each >= rough) ?? 10 * power;
  const made = [];
  for (let value = 0; value < max + step * 0.999; value += step) made.push(Number(value.toPrecision(12)));
  return made;
}

/** Choose the labels of an axis to show: one of every few, and never the same label twice in a row. */
export function shownLabels(labels, every) {
  let last = null;
  return labels.map((label, index) => {
    if (index % every || label === last) return false;
    last = label;
    return true;
  });
}

/** The room that the numbers of the axis need on the left. They can be long: "0,20 US$". */
export function leftRoom(max, { format = number, axis = format }) {
  const longest = Math.max(...ticks(max).map((value) => axis(value).length));
  return Math.max(EDGE.left, Math.ceil(longest * 6.6) + 12);
}

function frame(width, max, { labels, format = number, axis = format }, walk) {
  const marks = ticks(max);
  const left = leftRoom(max, { format, axis });
  const top = marks[marks.length - 1];
  const y = (value) => HEIGHT - EDGE.bottom - (value / top) * (HEIGHT - EDGE.top - EDGE.bottom);
  const every = Math.max(1, Math.ceil(labels.length / Math.max(2, Math.floor(width / 110))));
  const isShown = shownLabels(labels, every);
  const root = s(
    "svg.drawing",
    { viewBox: `0 0 ${width} ${HEIGHT}`, width, height: HEIGHT, "aria-hidden": "true" },
    s(
      "g.grid",
      {},
      marks.map((value) => [
        s("path", {
          d: `M${left} ${y(value).toFixed(1)}H${width - EDGE.right}`,
          class: value === 0 ? "base" : "",
        }),
        s("text", { x: left - 8, y: (y(value) + 4).toFixed(1), "text-anchor": "end" }, axis(value)),
      ]),
    ),
    s(
      "g.days",
      {},
      labels.map((label, index) => {
        if (!isShown[index]) return null;
        const x = walk(index, width);
        const anchor = x > width - 40 ? "end" : x < left + 18 ? "start" : "middle";
        return s("text", { x: x.toFixed(1), y: HEIGHT - 8, "text-anchor": anchor }, label);
      }),
    ),
  );
  return { root, y };
}

/**
 * Stacked bars, one column per label.
 * @param {Chart} chart
 */
export function stackedBars(chart) {
  const { labels, series } = chart;
  const totals = labels.map((_, index) => series.reduce((sum, one) => sum + (one.values[index] || 0), 0));
  const left = leftRoom(Math.max(...totals, 0), chart);
  const slot = (width) => (width - left - EDGE.right) / Math.max(labels.length, 1);
  const walk = (index, width) => left + slot(width) * (index + 0.5);
  const draw = (width) => {
    const { root, y } = frame(width, Math.max(...totals, 0), chart, walk);
    const thick = Math.max(1, Math.min(slot(width) * 0.72, 34));
    const base = labels.map(() => 0);
    for (const one of series) {
      let path = "";
      one.values.forEach((value, index) => {
        if (!value) return;
        const [from, to] = [y(base[index]), y(base[index] + value)];
        const side = walk(index, width) - thick / 2;
        path += `M${side.toFixed(1)} ${from.toFixed(1)}V${to.toFixed(1)}h${thick.toFixed(1)}V${from.toFixed(1)}z`;
        base[index] += value;
      });
      root.append(s("path.bars", { d: path, class: `tint-${one.tint}`, "data-series": one.name }));
    }
    root.append(s("path.guide"));
    return root;
  };
  return figure(chart, { draw, walk, isEmpty: !totals.some((total) => total > 0) });
}

/**
 * Lines over time, with a gap at each null value.
 * @param {Chart} chart
 */
export function lines(chart) {
  const { labels, series } = chart;
  const max = Math.max(...series.flatMap((one) => one.values.map((value) => value ?? 0)), 0);
  const left = leftRoom(max, chart);
  const walk = (index, width) =>
    left + 4 + (width - left - EDGE.right - 8) * (labels.length > 1 ? index / (labels.length - 1) : 0.5);
  const draw = (width) => {
    const { root, y } = frame(width, max, chart, walk);
    for (const one of series) {
      let path = "";
      let pen = "M";
      one.values.forEach((value, index) => {
        if (value === null) {
          pen = "M";
          return;
        }
        path += `${pen}${walk(index, width).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      });
      if (labels.length === 1 && one.values[0] !== null)
        path = `M${left} ${y(one.values[0]).toFixed(1)}H${width - EDGE.right}`;
      root.append(s("path.line", { d: path, class: `tint-${one.tint}`, "data-series": one.name }));
      const last = one.values.findLastIndex((value) => value !== null);
      if (last >= 0)
        root.append(
          s("circle.point", {
            cx: walk(last, width).toFixed(1),
            cy: y(one.values[last]).toFixed(1),
            r: 3.5,
            class: `tint-${one.tint}`,
          }),
        );
    }
    root.append(s("path.guide"));
    return root;
  };
  return figure(chart, { draw, walk, isEmpty: series.every((one) => one.values.every((value) => value === null)) });
}
