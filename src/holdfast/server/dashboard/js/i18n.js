// Translations, and the formatting of numbers and times.

import { settings } from "./settings.js";

export const LANGUAGES = { en: "English", es: "Español" };
const words = {};
let language = "en";

/** The selected language, or the first supported language of the browser. */
export function wanted() {
  if (settings.language in LANGUAGES) return settings.language;
  const known = (navigator.languages ?? [navigator.language]).map((tag) => tag.slice(0, 2).toLowerCase());
  return known.find((tag) => tag in LANGUAGES) ?? "en";
}

export const current = () => language;

/** Load the translations of the chosen language. Every language has every word. */
export async function loadWords() {
  language = wanted();
  words[language] ??= await fetchWords(language);
  document.documentElement.lang = language;
  formats.clear();
}

async function fetchWords(name) {
  const response = await fetch(new URL(`../i18n/${name}.json`, import.meta.url));
  return response.json();
}

const added = new Set();
/** Load more translations, such as those of a view that few people open. */
export async function addWords(group) {
  const name = `${group}.${language}`;
  if (added.has(name)) return;
  Object.assign(words[language], await fetchWords(name));
  added.add(name);
}

const fromServer = {};
/** Load the translations of the server's texts. The server writes English, so that English needs none. */
export async function loadServerTexts() {
  if (language === "en" || fromServer[language]) return;
  const found = await fetchWords(`server/${language}`);
  for (const [key, text] of Object.entries(found)) words[language][`server.${key}`] = text;
  fromServer[language] = true;
}

/**
 * Translate an English text of the server by its code and values, or return null if there is no translation.
 * @param {{code: string, values: Record<string, any>} | null | undefined} code
 */
export function fromCode(code) {
  if (!code || language === "en") return null;
  const key = `server.${code.code}`;
  if (!has(key) && !has(`${key}.other`)) return null;
  const values = Object.entries(code.values).map(([name, value]) => [name, value?.code ? inner(value) : value]);
  return t(key, Object.fromEntries(values));
}

const inner = (value) => fromCode(value) ?? value.text;

/** Translate the reason of a change. A reason that a person or a model wrote stays as it is. */
export function reasonText(text) {
  return text.split("; ").map(oneReason).join("; ");
}

/** The value in a reason: a quoted name, a number, a source or a page. */
const VALUE = /'[^']*'|\d+|(?<=^imported from ).+|^.+(?= was split$)/;
function oneReason(text) {
  const [, what, date] = /^(.*?)(?:, as of (\d{4}-\d\d-\d\d))?$/s.exec(text) ?? [text, text];
  const found = look(`server.reason.${what.replace(VALUE, "{n}")}`)?.replace("{n}", what.match(VALUE)?.[0] ?? "");
  if (!found) return text;
  return date ? `${found}, ${t("since", { date })}` : found;
}

const look = (key) => words[language]?.[key];

/** Translate a key. `{name}` is replaced by a value; `n` selects the plural form. */
export function t(key, values = {}) {
  let text;
  if (values.n !== undefined)
    text = look(`${key}.${new Intl.PluralRules(language).select(Number(values.n))}`) ?? look(`${key}.other`);
  text ??= look(key);
  if (text === undefined) return key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => {
    const value = values[name];
    if (value === undefined) return whole;
    return typeof value === "number" ? number(value) : String(value);
  });
}

/** Translate a name from the server, such as a kind or an arm. Unknown names stay as they are. */
export const named = (group, name) => look(`${group}.${name}`) ?? String(name ?? "");
export const has = (key) => look(key) !== undefined;

const formats = new Map();
function format(kind, options) {
  const id = kind + JSON.stringify(options);
  if (!formats.has(id)) formats.set(id, new Intl[kind](language, options));
  return formats.get(id);
}

export const number = (value, options = {}) => format("NumberFormat", options).format(value);
export const compact = (value) => number(value, { notation: "compact", maximumFractionDigits: 1 });
export const percent = (value) => number(value, { style: "percent", maximumFractionDigits: 0 });
export const money = (value) =>
  number(value, {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: value !== 0 && Math.abs(value) < 1 ? 4 : 2,
  });

export function bytes(value) {
  const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"];
  const step = value > 0 ? Math.min(Math.floor(Math.log(value) / Math.log(1000)), 4) : 0;
  return number(value / 1000 ** step, {
    style: "unit",
    unit: units[step],
    unitDisplay: "short",
    maximumFractionDigits: step ? 1 : 0,
  });
}

export function milliseconds(value) {
  if (value >= 1000) return duration(value / 1000);
  return number(value, { style: "unit", unit: "millisecond", maximumFractionDigits: value < 10 ? 1 : 0 });
}

export function duration(seconds) {
  /** @type {[string, number][]} */
  const steps = [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
    ["second", 1],
  ];
  const [unit, size] = steps.find(([, each]) => seconds >= each) ?? steps[3];
  return number(seconds / size, {
    style: "unit",
    unit,
    unitDisplay: "short",
    maximumFractionDigits: seconds < 10 ? 1 : 0,
  });
}

const asDate = (value) => (value instanceof Date ? value : new Date(value));

export const dateTime = (value) =>
  format("DateTimeFormat", { dateStyle: "medium", timeStyle: "short" }).format(asDate(value));
export const clock = (value) => format("DateTimeFormat", { timeStyle: "short" }).format(asDate(value));
export const shortDay = (value) => format("DateTimeFormat", { day: "numeric", month: "short" }).format(asDate(value));
export const fullDay = (value) => format("DateTimeFormat", { dateStyle: "medium" }).format(asDate(value));
export const monthYear = (value) => format("DateTimeFormat", { month: "short", year: "numeric" }).format(asDate(value));
export const longDay = (value) =>
  format("DateTimeFormat", { weekday: "long", day: "numeric", month: "long", year: "numeric" }).format(asDate(value));

/** Name a day: today, yesterday, or the date. */
export function dayName(value) {
  const days = Math.round((startOfDay(asDate(value)) - startOfDay(new Date())) / 86400000);
  return days === 0 || days === -1
    ? capital(format("RelativeTimeFormat", { numeric: "auto" }).format(days, "day"))
    : capital(longDay(value));
}

const startOfDay = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
export const capital = (text) => text.charAt(0).toLocaleUpperCase(language) + text.slice(1);

/** The local date of a time, as YYYY-MM-DD. */
export function dayOf(value) {
  const date = asDate(value);
  const two = (value) => String(value).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Format a time relative to now, such as "5 min. ago". */
export function ago(value) {
  const seconds = (asDate(value).getTime() - Date.now()) / 1000;
  /** @type {[string, number][]} */
  const steps = [
    ["year", 31536000],
    ["month", 2592000],
    ["week", 604800],
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ];
  const found = steps.find(([, each]) => Math.abs(seconds) >= each);
  if (!found) return t("time.now");
  const [unit, size] = found;
  return format("RelativeTimeFormat", { numeric: "auto", style: "short" }).format(Math.round(seconds / size), unit);
}
