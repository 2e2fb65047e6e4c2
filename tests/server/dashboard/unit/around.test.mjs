// The layout of the people and places around a person.

import assert from "node:assert/strict";
import { test } from "node:test";

const { layout } = await import(
  new URL("../../../../src/holdfast/server/dashboard/js/views/around.js", import.meta.url)
);

const named = (kind, ...names) => names.map((name) => ({ name, kind }));

test("every name has its own place inside the drawing", () => {
  const names = [...named("person", ..."abcdefgh"), ...named("place", ..."ijkl"), ...named("other", ..."mnop")];
  const places = [...layout(names, []).values()];
  assert.equal(places.length, 16);
  for (const { x, y } of places) assert.ok(x > 40 && x < 600 && y > 30 && y < 350, `${x} ${y}`);
  for (const [index, one] of places.entries())
    for (const other of places.slice(index + 1)) assert.ok(Math.hypot(one.x - other.x, one.y - other.y) > 45);
});

test("names that are mentioned together stand next to each other", () => {
  const order = [...layout(named("person", "Ana", "Bo", "Cy", "Di"), [{ between: ["Ana", "Cy"], weight: 3 }]).keys()];
  assert.equal(Math.abs(order.indexOf("Ana") - order.indexOf("Cy")), 1);
});

test("one name, and none, are drawn too", () => {
  assert.equal(layout(named("place", "Lyon"), []).size, 1);
  assert.equal(layout([], []).size, 0);
});
