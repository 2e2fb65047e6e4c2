// Statistics: current numbers as tiles, and their history as charts with tables.

import { get } from "../api.js";
import { lines, stackedBars } from "../charts.js";
import { h, replace } from "../dom.js";
import { bytes, clock, compact, duration, milliseconds, money, named, number, percent, shortDay, t } from "../i18n.js";
import { live } from "../live.js";
import { keep, samples } from "../samples.js";
import { empty, head, link, load, segmented, tint } from "../ui.js";

const RANGES = [7, 14, 30];

export function view(route, signal) {
  const box = h("div");
  let range = 30;
  let stats = null;
  const read = async () => {
    stats = keep(await get("/v1/stats", {}, signal));
    return stats;
  };
  const show = () => {
    if (stats) replace(box, draw(stats, range));
  };
  load(box, read, () => draw(stats, range), { rows: 4, shape: "chart", signal });
  let last = Date.now();
  const again = async () => {
    if (Date.now() - last < 4000 || isInUse(box)) return;
    last = Date.now();
    try {
      await read();
      if (!signal.aborted) show();
    } catch {
      /* keep showing the previous numbers */
    }
  };
  live.addEventListener("change", again, { signal });
  const timer = setInterval(again, 15000);
  signal.addEventListener("abort", () => clearInterval(timer));
  const days = RANGES.map((each) => [String(each), t("stats.days", { n: each })]);
  const ranges = segmented(t("stats.range"), days, String(range), (value) => {
    range = Number(value);
    show();
  });
  return { node: h("div.page.wide", {}, head(t("nav.stats"), t("stats.lead"), ranges), box) };
}

/** True if redrawing now would disturb the reader, or if nobody sees the page. */
function isInUse(box) {
  return (
    document.hidden || box.contains(document.activeElement) || box.querySelector("details[open], .plot:hover") !== null
  );
}

const sum = (counts) =>
  counts && typeof counts === "object"
    ? Object.values(counts).reduce((total, each) => total + (Number(each) || 0), 0)
    : Number(counts) || 0;

function draw(stats, range) {
  if (!stats.memories && !sum(stats.messages) && !stats.memories_per_day?.length) {
    return empty(t("stats.empty.title"), t("stats.empty.body"), {
      name: "stats",
      actions: [link(t("memories.empty.chat"), "#/chat", { name: "chat" })],
    });
  }
  const days = lastDays(range);
  return [
    tiles(stats),
    h("h2.visually-hidden", {}, t("stats.history")),
    h(
      "div.charts",
      {},
      growth(stats, days),
      samples.some((one) => one.p50) && latency(),
      lag(),
      has(stats, "cost") && spend(stats, days),
      has(stats, "energy") && energy(stats, days),
      has(stats, "input_tokens") && tokens(stats, days),
    ),
    facts(stats),
  ];
}

/** True if models are used, or some use of this kind was ever counted. Other charts would stay empty. */
const has = (stats, name) => Boolean(stats.chat) || (stats.spend ?? []).some((row) => row[name]);

export function lastDays(count) {
  const today = new Date();
  return Array.from({ length: count }, (_, index) =>
    new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate() - (count - 1 - index)))
      .toISOString()
      .slice(0, 10),
  );
}

const label = (day) => shortDay(`${day}T12:00:00`);

function tiles(stats) {
  const queue = stats.queue ?? {};
  const rows = [
    ["memories", number(stats.memories ?? 0)],
    ["messages", number(sum(stats.messages))],
    ["sessions", number(sum(stats.sessions))],
    [
      "recall",
      stats.recall_ms?.count ? milliseconds(stats.recall_ms.p50) : "–",
      stats.recall_ms?.count
        ? t("stats.recall.note", { p95: milliseconds(stats.recall_ms.p95), n: stats.recall_ms.count })
        : t("stats.recall.none"),
    ],
    [
      "queue",
      number(queue.queued ?? 0),
      queue.dead
        ? h("a.bad", { href: "#/jobs?state=dead" }, t("stats.dead", { n: queue.dead }))
        : t("stats.queue.note"),
    ],
    ["store", bytes(stats.store_bytes ?? 0)],
  ];
  return h(
    "dl.tiles",
    {},
    rows.map(([name, value, note]) =>
      h("div.tile", {}, h("dt", {}, t(`stats.${name}`)), h("dd", {}, value, note && h("small", {}, note))),
    ),
  );
}

export function bySeries(rows, days, seriesOf, valueOf, nameOf, tintOf) {
  const found = new Map();
  for (const row of rows ?? []) {
    const place = days.indexOf(row.day);
    if (place < 0) continue;
    const name = seriesOf(row);
    if (!found.has(name))
      found.set(
        name,
        days.map(() => 0),
      );
    found.get(name)[place] += valueOf(row);
  }
  return [...found]
    .filter(([, values]) => sum(values) > 0)
    .sort(([, a], [, b]) => sum(b) - sum(a))
    .map(([name, values], index) => ({ name: nameOf(name), values, tint: tintOf(name, index) }));
}

const none = (days, name, shade) => [{ name, values: days.map(() => 0), tint: shade }];

function growth(stats, days) {
  const series = bySeries(
    stats.memories_per_day,
    days,
    (row) => row.kind,
    (row) => row.count,
    (kind) => named("kind", kind),
    tint,
  );
  return stackedBars({
    title: t("chart.memories"),
    note: t("chart.memories.note"),
    labels: days.map(label),
    series: series.length ? series : none(days, t("stats.memories"), 1),
    heading: t("chart.day"),
  });
}

function latency() {
  return lines({
    title: t("chart.latency"),
    note: t("chart.latency.note"),
    labels: samples.map((one) => clock(one.at)),
    heading: t("chart.time"),
    format: milliseconds,
    axis: (value) => milliseconds(value),
    series: [
      { name: t("chart.p50"), tint: 1, values: samples.map((one) => one.p50) },
      { name: t("chart.p95"), tint: 3, values: samples.map((one) => one.p95) },
    ],
  });
}

function lag() {
  return lines({
    title: t("chart.lag"),
    note: t("chart.lag.note"),
    labels: samples.map((one) => clock(one.at)),
    heading: t("chart.time"),
    format: duration,
    series: [{ name: t("chart.lag"), tint: 2, values: samples.map((one) => one.lag) }],
  });
}

const SHADES = [1, 3, 2, 4, 7, 6, 5, 8];
function spend(stats, days) {
  const series = bySeries(
    stats.spend,
    days,
    (row) => row.purpose,
    (row) => row.cost ?? 0,
    (name) => named("work", name),
    (_, index) => SHADES[index % 8],
  );
  return stackedBars({
    title: t("chart.spend"),
    note: t("chart.spend.note"),
    labels: days.map(label),
    series: series.length ? series : none(days, t("chart.spend"), 1),
    heading: t("chart.day"),
    format: money,
  });
}

function energy(stats, days) {
  const series = bySeries(
    stats.spend,
    days,
    (row) => row.purpose,
    (row) => row.energy ?? 0,
    (name) => named("work", name),
    (_, index) => SHADES[index % 8],
  );
  return stackedBars({
    title: t("chart.energy"),
    note: t("chart.energy.note"),
    labels: days.map(label),
    series: series.length ? series : none(days, t("chart.energy"), 6),
    heading: t("chart.day"),
    format: (value) => number(value, { maximumFractionDigits: 1 }),
  });
}

function tokens(stats, days) {
  const of = (name) =>
    days.map((day) =>
      (stats.spend ?? []).filter((row) => row.day === day).reduce((total, row) => total + (row[name] ?? 0), 0),
    );
  return stackedBars({
    title: t("chart.tokens"),
    note: t("chart.tokens.note"),
    labels: days.map(label),
    heading: t("chart.day"),
    axis: compact,
    series: [
      { name: t("chart.input"), tint: 7, values: of("input_tokens") },
      { name: t("chart.output"), tint: 2, values: of("output_tokens") },
    ],
  });
}

function facts(stats) {
  const rows = [
    ["embedder", stats.embedder],
    ["chat", stats.chat ?? t("chat.noModel")],
    ["preset", stats.preset],
    ["version", stats.version],
    ["energyUsed", energyWords(stats)],
  ];
  const shown = (value) =>
    typeof value === "object" && !(value instanceof Node) ? (value.name ?? JSON.stringify(value)) : value;
  const list = rows
    .filter(([, value]) => value)
    .map(([name, value]) => h("div", {}, h("dt", {}, t(`stats.${name}`)), h("dd", {}, shown(value))));
  return h(
    "div.facts-and-kinds",
    {},
    kindBars(stats),
    h("section", {}, h("h3", {}, t("stats.about")), h("dl.facts", {}, list)),
  );
}

function kindBars(stats) {
  const kinds = Object.entries(stats.by_kind ?? {}).sort(([, a], [, b]) => b - a);
  if (!kinds.length) return null;
  const max = Math.max(1, ...kinds.map(([, count]) => count));
  const bar = ([kind, count]) => {
    const fill = h("span.bar-fill", { class: `tint-${tint(kind)}`, style: { width: `${(count / max) * 100}%` } });
    return h("li", {}, h("span", {}, named("kind", kind)), h("span.bar", {}, fill), h("b", {}, number(count)));
  };
  return h("section", {}, h("h3", {}, t("stats.byKind")), h("ul.kind-bars", {}, kinds.map(bar)));
}

function energyWords({ energy, energy_share: share }) {
  if (!energy) return null;
  return [
    number(energy, { maximumFractionDigits: 1 }),
    share !== null && share !== undefined && t("stats.share", { share: percent(share) }),
  ]
    .filter(Boolean)
    .join(" · ");
}
