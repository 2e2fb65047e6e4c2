// The layout of the people and places around a person.

import assert from "node:assert/strict";
import { test } from "node:test";

const { labelAt, layout } = await import(
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

test("no line to the user runs through a label", () => {
  const names = [...named("person", ..."abcdefgh"), ...named("place", ..."ijkl"), ...named("other", ..."mnop")];
  for (let count = 1; count <= names.length; count += 1) {
    const places = layout(names.slice(0, count), []);
    for (const place of places.values()) {
      const label = labelAt(place, 10);
      const box = { left: label.x - 18, right: Number(label.x) + 18, top: label.y - 12, bottom: Number(label.y) + 3 };
      assert.ok(box.top > 0 && box.bottom < 380, `${count}: a label leaves the drawing`);
      const isHit = (share) => {
        const [x, y] = [320 + (place.x - 320) * share, 190 + (place.y - 190) * share];
        return x > box.left && x < box.right && y > box.top && y < box.bottom;
      };
      for (let share = 0; share <= 1; share += 0.01)
        assert.ok(!isHit(share), `${count}: the line of a name at ${share}`);
    }
  }
});
