// Functions of the dashboard that need no document: routes, diffs, ticks, the life of facts, safe addresses.

import assert from "node:assert/strict";
import { test } from "node:test";

const js = (name) => import(new URL(`../../../../src/holdfast/server/dashboard/js/${name}`, import.meta.url));
const { format, parse } = await js("router.js");
const { compare } = await js("diff.js");
const { leftRoom, shownLabels, ticks } = await js("charts.js");
const { inChains, span, timeMarks, timeScale } = await js("lives.js");
const { timeBars } = await js("views/traces.js");
const { safeAddress } = await js("markdown.js");
const { splitTags } = await js("dialogs.js");
const { tint } = await js("ui.js");
const { bytes, dayOf, duration, milliseconds, monthYear, percent, reasonText, shortDay } = await js("i18n.js");

test("a route survives its address, whatever its parts contain", () => {
  const route = { name: "people", parts: ["José / 100%", "#?&"], query: { q: "té & café", kind: "fact" } };
  assert.deepEqual(parse(format(route)), route);
});

test("an address without a view is the chat, and a broken escape is kept as it is", () => {
  assert.equal(parse("").name, "chat");
  assert.deepEqual(parse("#/people/%E0%A4%A").parts, ["%E0%A4%A"]);
});

test("empty values of a query are left out", () => {
  assert.equal(format({ name: "memories", query: { q: "", kind: null, status: "live" } }), "#/memories?status=live");
});

test("a diff rebuilds both texts", () => {
  const [before, after] = ["Lives in Lyon with a cat", "Lives in Turin with two cats"];
  const pieces = compare(before, after);
  const without = (sign) =>
    pieces
      .filter((each) => each[0] !== sign)
      .map((each) => each[1])
      .join("");
  assert.equal(without("+"), before);
  assert.equal(without("-"), after);
});

test("ticks are round, begin at zero and reach the maximum", () => {
  for (const max of [0.004, 1, 7, 99, 12345]) {
    const found = ticks(max);
    assert.equal(found[0], 0);
    assert.ok(found.at(-1) >= max, `${max}: ${found}`);
    assert.ok(found.length <= 8, `${max}: ${found}`);
  }
  assert.deepEqual(ticks(0), [0, 1]);
});

test("a live memory lasts until now, and a retired one until it ended", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const live = span({ status: "live", valid_from: "2025-01-01T00:00:00Z", valid_to: null }, now);
  assert.deepEqual([live.to, live.isOpen], [now, true]);
  const ended = span(
    { status: "superseded", valid_from: "2025-01-01T00:00:00Z", valid_to: "2025-06-01T00:00:00Z" },
    now,
  );
  assert.deepEqual([ended.to, ended.isOpen], [Date.parse("2025-06-01T00:00:00Z"), false]);
});

test("a memory that ended before it began has no negative length", () => {
  const found = span({ status: "forgotten", valid_from: "2025-06-01T00:00:00Z", retired_at: "2025-01-01T00:00:00Z" });
  assert.equal(found.to, found.from);
});

test("a memory stands next to the one that replaced it, even in a circle", () => {
  const memory = (id, day, replaced_by) => ({ id, valid_from: `2025-01-${day}T00:00:00Z`, replaced_by });
  const found = inChains([
    memory("c", "09", null),
    memory("a", "01", "b"),
    memory("x", "05", null),
    memory("b", "20", null),
  ]);
  assert.deepEqual(
    found.map((each) => each.id),
    ["a", "b", "c", "x"],
  );
  assert.equal(inChains([memory("a", "01", "b"), memory("b", "02", "a")]).length, 2);
});

test("the time axis has few round marks, and no two with the same name", () => {
  const now = Date.parse("2026-11-17T12:00:00Z");
  const names = { Date: shortDay, Month: monthYear, FullYear: (at) => String(new Date(at).getFullYear()) };
  for (const days of [0.1, 1, 3, 9, 30, 59, 61, 100, 200, 365, 500, 900, 2000, 9000, 40000]) {
    const { times, unit } = timeMarks(now - days * 86400000, now);
    const labels = times.map(names[unit]);
    assert.ok(labels.length <= 5, `${days} days: ${labels}`);
    assert.equal(new Set(labels).size, labels.length, `${days} days: ${labels}`);
    if (days >= 1) assert.ok(labels.length >= 1, `${days} days`);
  }
});

test("a fact from the future extends the time axis", () => {
  const now = Date.parse("2026-01-01T00:00:00Z");
  const scale = timeScale(
    [{ status: "live", valid_from: "2025-01-01T00:00:00Z", valid_to: "2027-01-01T00:00:00Z" }],
    now,
  );
  assert.ok(Math.abs(scale.place(now) - 50) < 1);
  assert.equal(timeScale([], now).place(now), 0);
});

test("an axis shows no label twice in a row", () => {
  assert.deepEqual(shownLabels(["9:05", "9:05", "9:06", "9:06"], 1), [true, false, true, false]);
  assert.deepEqual(shownLabels(["a", "b", "c", "d"], 2), [true, false, true, false]);
});

test("a reason without a translation stays as it was written", () => {
  for (const text of ["because I said so", "changed, as of 2024-01-02; ended", "a newer value of 'home'", ""])
    assert.equal(reasonText(text), text);
});

test("only web and mail addresses become links", () => {
  assert.equal(safeAddress("https://example.org/a"), "https://example.org/a");
  for (const bad of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//example.org", "https://["])
    assert.equal(safeAddress(bad), null, bad);
});

test("tags are split at commas, without empty ones", () => {
  assert.deepEqual(splitTags(" tea, , coffee,"), ["tea", "coffee"]);
});

test("every kind has a stable color from 1 to 8", () => {
  for (const kind of ["fact", "decision", "recipe", "", "日記"]) {
    assert.ok(tint(kind) >= 1 && tint(kind) <= 8);
    assert.equal(tint(kind), tint(kind));
  }
});

test("numbers are formatted with the unit that fits", () => {
  assert.equal(bytes(0), "0 byte");
  assert.equal(bytes(1_500_000), "1.5 MB");
  assert.equal(milliseconds(3.14159), "3.1 ms");
  assert.equal(duration(7200), "2 hr");
  assert.equal(percent(0.256), "26%");
  assert.equal(dayOf(new Date(2026, 0, 5)), "2026-01-05");
});

test("the numbers of an axis have room, however long they are", () => {
  assert.equal(leftRoom(0.2, { format: String }), leftRoom(100, { format: String }));
  assert.ok(leftRoom(0.2, { format: (value) => `${value.toFixed(2)} US$` }) > 60);
});

test("the steps of a trace follow each other, and the rest of the time is at the end", () => {
  const made = timeBars({ steps: { search: 6, models: 3, rerank: 0.01 }, milliseconds: 10 });
  assert.deepEqual(
    made.map(({ from, size }) => [from, size]),
    [
      [0, 3],
      [3, 6],
      [9, 1],
    ],
  );
});
