// HTTP client. Every failure becomes a Problem with a stable code and the server's detail, if any.

import { key, scope } from "./settings.js";

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail || body.title || `HTTP ${status}`);
    this.status = status;
    this.code = body.code || "unexpected";
    this.detail = body.detail || "";
    this.detailCode = body.detail_code ?? null;
    this.body = body;
  }
}

/** The problem of a server that does not answer. */
export const unreachable = () => new Problem(0, { code: "unreachable" });

function headers(writes) {
  /** @type {Record<string, string>} */
  const found = { Accept: "application/json" };
  if (key()) found.Authorization = `Bearer ${key()}`;
  if (writes) found["Idempotency-Key"] = randomId();
  return found;
}

/** A random id. */
export function randomId() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function address(path, query) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "" && one !== false) parameters.append(name, one);
    }
  }
  const text = parameters.toString();
  return text ? `${path}?${text}` : path;
}

/**
 * The parts of a request.
 * @typedef {{query?: Record<string, any>, body?: unknown, file?: Blob, signal?: AbortSignal | null, accept?: string}} Request
 */

/**
 * @param {string} method
 * @param {string} path
 * @param {Request} options
 */
async function send(method, path, { query, body, file, signal, accept } = {}) {
  const sent = headers(method !== "GET");
  /** @type {RequestInit} */
  const options = { method, signal, headers: sent, cache: "no-store" };
  if (accept) sent.Accept = accept;
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    sent["Content-Type"] = "application/json";
  }
  if (file) {
    options.body = file;
    sent["Content-Type"] = "application/octet-stream";
  }
  let response;
  try {
    response = await fetch(address(path, query), options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw unreachable();
  }
  if (!response.ok) throw new Problem(response.status, announced(await problemOf(response)));
  return response;
}

async function problemOf(response) {
  try {
    const body = await response.json();
    const wait = response.headers.get("Retry-After");
    return body && typeof body === "object" ? { ...body, retryAfter: wait } : {};
  } catch {
    return {};
  }
}

async function json(method, path, options) {
  const response = await send(method, path, options);
  return response.status === 204 ? null : announced(await response.json());
}

/** Dispatches "redacted" with the secrets that a write replaced. */
export const redactions = new EventTarget();

function announced(body) {
  if (body?.redacted?.length) redactions.dispatchEvent(new CustomEvent("redacted", { detail: body.redacted }));
  return body;
}

/** @typedef {AbortSignal | null} Signal */
/** @type {(path: string, query?: Record<string, any>, signal?: Signal) => Promise<any>} */
export const get = (path, query, signal) => json("GET", path, { query, signal });
/** @type {(path: string, body?: unknown, signal?: Signal) => Promise<any>} */
export const post = (path, body = {}, signal) => json("POST", path, { body, signal });
export const patch = (path, body) => json("PATCH", path, { body });
export const put = (path, body) => json("PUT", path, { body });
export const del = (path, query) => json("DELETE", path, { query });
/** The same requests within the selected scope. */
/** @type {(path: string, query?: Record<string, any>, signal?: Signal) => Promise<any>} */
export const getHere = (path, query, signal) => get(path, { ...scope(), ...query }, signal);
/** @type {(path: string, body?: Record<string, any>, signal?: Signal) => Promise<any>} */
export const postHere = (path, body, signal) => post(path, { ...scope(), ...body }, signal);
/** Save a response of the server as a file. */
export async function download(path, query, name) {
  const response = await send("GET", path, { query, accept: "*/*" });
  const address = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 60000);
}
/** Encode one segment of a path. */
export const part = (name) => encodeURIComponent(name);

/**
 * Read server-sent events; yields {event, data}.
 * @param {string} method
 * @param {string} path
 * @param {Request} options
 */
export async function* events(method, path, { body, file, query, signal } = {}) {
  const response = await send(method, path, {
    body,
    file,
    query,
    signal,
    accept: "text/event-stream, application/json",
  });
  if (!(response.headers.get("Content-Type") ?? "").includes("event-stream")) {
    yield { event: "answer", data: announced(await response.json()) };
    return;
  }
  const reader = /** @type {ReadableStream} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const found = parse(block);
      if (found?.event === "answer") announced(found.data);
      if (found) yield found;
    }
  }
}

function parse(block) {
  let event = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) event = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (!data.length) return null;
  try {
    return { event, data: JSON.parse(data.join("\n")) };
  } catch {
    return null;
  }
}
