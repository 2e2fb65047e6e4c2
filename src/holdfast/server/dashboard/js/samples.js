// Samples of the server's statistics while the page is open, for the charts of the last minutes.

import { get } from "./api.js";

const MAX_SAMPLES = 240;
const INTERVAL_MS = 5000;
const STORAGE_KEY = "holdfast.samples";
export const samples = earlier();
/** @type {any} */
export let latest = null;
let last = 0;
/** @type {Promise<any> | null} */
let pending = null;

/** Samples from before the page was reloaded. */
function earlier() {
  try {
    return JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? "[]").map((one) => ({ ...one, at: new Date(one.at) }));
  } catch {
    return [];
  }
}

/** Fetch the statistics, at most every five seconds. A call during a request waits for its response. */
export async function record() {
  if (pending) return pending;
  if (Date.now() - last < INTERVAL_MS) return latest;
  last = Date.now();
  pending = get("/v1/stats").then(keep, () => latest);
  try {
    return await pending;
  } finally {
    pending = null;
  }
}

/** Record one response. */
export function keep(stats) {
  latest = stats;
  samples.push({
    at: new Date(),
    p50: stats.recall_ms?.p50 ?? null,
    p95: stats.recall_ms?.p95 ?? null,
    lag: stats.digestion_lag_seconds ?? 0,
    queued: stats.queue?.queued ?? 0,
  });
  if (samples.length > MAX_SAMPLES) samples.shift();
  try {
    sessionStorage.setItem(STORAGE_KEY, JSON.stringify(samples));
  } catch {
    /* without storage, the samples last until the page is reloaded */
  }
  return stats;
}
