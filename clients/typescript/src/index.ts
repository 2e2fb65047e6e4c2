/** A typed client of the Holdfast server. `schema.d.ts` is generated from the server's OpenAPI document. */

import createFetchClient, { type Client, type Middleware } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, operations, paths } from "./schema.js";

/** The data types of the API, by name: `Schemas["Memory"]`, `Schemas["Hit"]`. */
export type Schemas = components["schemas"];

/** The calls of the API by method and path: `client.POST("/v1/recall", { body })`. */
export type HoldfastClient = Client<paths>;

export interface Options {
  /** The address of the server. Default: `http://127.0.0.1:8321`. */
  url?: string;
  /** An access key: `holdfast keys create`. On the machine of the server, none is needed until the first key exists. */
  key?: string;
  /** Maximum number of attempts while the server is busy or cannot be reached. Default: 3. */
  maxAttempts?: number;
  /** Maximum time until a response begins, in milliseconds. Default: 30,000. */
  timeoutMs?: number;
  /** Replaces the global `fetch`. */
  fetch?: (request: Request) => Promise<Response>;
}

/** An error response of the server. `code` does not change between releases. */
export class HoldfastError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, detail: string) {
    super(detail);
    this.name = "HoldfastError";
    this.status = status;
    this.code = code;
  }
}

const SAFE = new Set(["GET", "HEAD"]);
const BUSY = new Set([429, 503]);
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 10_000;

/**
 * Create a client. A response that is not successful throws a `HoldfastError`.
 *
 * Writes get an `Idempotency-Key`, so a repeated attempt changes nothing twice.
 */
export function createClient(options: Options = {}): HoldfastClient {
  const send = options.fetch ?? ((request: Request) => fetch(request));
  const client = createFetchClient<paths>({
    baseUrl: (options.url ?? "http://127.0.0.1:8321").replace(/\/+$/, ""),
    fetch: (request: Request) => withRetries(request, send, options.maxAttempts ?? 3, options.timeoutMs ?? 30_000),
  });
  client.use(headers(options.key), errors);
  return client;
}

function headers(key: string | undefined): Middleware {
  return {
    onRequest({ request }) {
      if (key !== undefined) request.headers.set("Authorization", `Bearer ${key}`);
      if (!SAFE.has(request.method) && !request.headers.has("Idempotency-Key")) {
        request.headers.set("Idempotency-Key", crypto.randomUUID());
      }
      return request;
    },
  };
}

const errors: Middleware = {
  async onResponse({ response }) {
    if (response.ok) return;
    const problem = (await response.json().catch(() => ({}))) as { code?: string; detail?: string };
    throw new HoldfastError(response.status, problem.code ?? "unexpected", problem.detail ?? response.statusText);
  },
};

async function withRetries(
  request: Request,
  send: (request: Request) => Promise<Response>,
  maxAttempts: number,
  timeoutMs: number,
): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const last = attempt >= maxAttempts || request.signal.aborted;
    let response: Response;
    try {
      response = await sendOnce(request.clone(), send, timeoutMs);
    } catch (error) {
      if (last || request.signal.aborted) throw error;
      await pause(FIRST_PAUSE_MS * 2 ** (attempt - 1));
      continue;
    }
    if (last || !BUSY.has(response.status)) return response;
    const seconds = Number(response.headers.get("Retry-After"));
    await response.body?.cancel();
    await pause(seconds > 0 ? seconds * 1000 : FIRST_PAUSE_MS * 2 ** (attempt - 1));
  }
}

/** Send a request. The time limit ends with the response's headers, so that a stream can be read for longer. */
async function sendOnce(request: Request, send: (request: Request) => Promise<Response>, timeoutMs: number): Promise<Response> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(new Error(`No response within ${timeoutMs} ms.`)), timeoutMs);
  try {
    return await send(new Request(request, { signal: AbortSignal.any([request.signal, limit.signal]) }));
  } finally {
    clearTimeout(timer);
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.min(milliseconds, MAX_PAUSE_MS)));
}
