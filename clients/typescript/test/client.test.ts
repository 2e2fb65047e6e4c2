/** Runs against a real server, whose address and admin key are in the environment. */

import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { createClient, HoldfastError, type Schemas } from "../src/index.js";

const url = process.env["HOLDFAST_TEST_URL"] ?? "";
const key = process.env["HOLDFAST_TEST_KEY"] ?? "";
const client = createClient({ url, key });

test("what is remembered is recalled", async () => {
  const stored = await client.POST("/v1/memories", { body: { text: "prefiere el té por la mañana", user: "ana", key: "drink" } });
  const memory: Schemas["Memory"] | undefined = stored.data;
  assert.ok(memory);
  assert.match(memory.id, /^mem_/);
  const found = await client.POST("/v1/recall", { body: { query: "té", user: "ana", limit: 1 } });
  assert.equal(found.data?.hits[0]?.text, "prefiere el té por la mañana");
  const listed = await client.GET("/v1/memories", { params: { query: { user: "ana" } } });
  assert.deepEqual(listed.data?.items.map((each) => each.id), [memory.id]);
});

test("a session takes messages and ends", async () => {
  const session = await client.POST("/v1/sessions", { body: { user: "bo" } });
  const id = session.data?.id ?? "";
  await client.POST("/v1/sessions/{id}/messages", { params: { path: { id } }, body: { role: "user", text: "I live in Lyon." } });
  const ended = await client.POST("/v1/sessions/{id}/end", { params: { path: { id } } });
  assert.equal(ended.response.status, 200);
});

test("an error has the stable code of the server", async () => {
  const missing = client.GET("/v1/memories/{id}", { params: { path: { id: "mem_01k4zt3w9v6q2m8x5c7b1n0pda" } } });
  await assert.rejects(missing, (error) => error instanceof HoldfastError && error.status === 404 && error.code === "not_found");
  const keyless = createClient({ url, key: "hf_wrong" }).GET("/v1/stats");
  await assert.rejects(keyless, (error) => error instanceof HoldfastError && error.code === "unauthorized");
});

test("the compiler refuses unknown fields and paths", async () => {
  // @ts-expect-error a recall has no field `question`
  await assert.rejects(client.POST("/v1/recall", { body: { question: "tea", user: "ana" } }), HoldfastError);
  // @ts-expect-error there is no such path
  await assert.rejects(client.GET("/v1/no-such-path"), HoldfastError);
});

test("a busy server is asked again with the same idempotency key, and only so often", async () => {
  const keys: unknown[] = [];
  const busy = createServer((request, response) => {
    keys.push(request.headers["idempotency-key"]);
    const status = keys.length === 2 || keys.length > 3 ? 503 : 429;
    response.writeHead(keys.length === 3 ? 201 : status, { "Content-Type": "application/json" }).end(JSON.stringify({ code: "store_busy" }));
  });
  await new Promise<void>((resolve) => busy.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(busy.address() as AddressInfo).port}`;
  try {
    const stored = await createClient({ url: address }).POST("/v1/memories", { body: { text: "tea", user: "ana" } });
    assert.equal(stored.response.status, 201);
    assert.equal(keys.length, 3);
    assert.equal(new Set(keys).size, 1);
    assert.ok(keys[0]);
    const refused = createClient({ url: address, maxAttempts: 2 }).GET("/v1/stats");
    await assert.rejects(refused, (error) => error instanceof HoldfastError && error.code === "store_busy");
    assert.equal(keys.length, 5);
  } finally {
    busy.closeAllConnections();
    busy.close();
  }
});

test("a server that does not answer is given up", async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
  try {
    await assert.rejects(createClient({ url: address, maxAttempts: 1, timeoutMs: 100 }).GET("/v1/stats"), /No response within 100 ms/);
  } finally {
    silent.closeAllConnections();
    silent.close();
  }
});
