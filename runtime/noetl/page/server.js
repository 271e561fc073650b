// The API of the server that the page came from. Addresses are relative to the page, so that a prefix does not matter.

import { jsonText, jsonValue } from './numbers.js';

const BASE = new URL('.', document.baseURI);

/** What the server said instead of an answer. */
export class Refusal extends Error {
  /** @param {number} status @param {string} text */
  constructor(status, text) {
    super(text);
    this.status = status;
  }
}

/** Called when the session is over. @type {() => void} */
let onSignedOut = () => {};

/** @param {() => void} heard */
export function whenSignedOut(heard) {
  onSignedOut = heard;
}

/** Groups of servers whose part is missing in what the page shows, by the path that was asked. @type {Map<string, string>} */
const missing = new Map();

/** Called with the groups that are missing. @type {(names: string[]) => void} */
let onMissing = () => {};

/** @param {(names: string[]) => void} heard */
export function whenMissing(heard) {
  onMissing = heard;
}

/** Forget what is missing: something else is shown now. */
export function forgetMissing() {
  missing.clear();
  onMissing([]);
}

/** @param {string} url @param {Response} response */
function hearMissing(url, response) {
  const path = new URL(url).pathname;
  const names = response.headers.get('Noetl-Missing') || '';
  if (names === (missing.get(path) || '')) return;
  if (names) missing.set(path, names);
  else missing.delete(path);
  onMissing([...new Set([...missing.values()].flatMap((each) => each.split(', ')))].sort());
}

/** An address of the API. @param {string} path @param {Record<string, any>} [query] @returns {string} */
export function address(path, query = {}) {
  const url = new URL(path, BASE);
  for (const [name, value] of Object.entries(query)) {
    if (value !== '' && value !== null && value !== undefined && value !== false) url.searchParams.set(name, String(value));
  }
  return url.href;
}

/** The server, as commands take it. */
export const server = () => address('').replace(/\/$/, '');

/** @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function get(path, query, signal) {
  return (await asked('GET', address(path, query), undefined, signal)).json();
}

/** The same, for values that are shown or sent on: a number that JavaScript would write otherwise (1220.0, or one of many digits) stays as the server wrote it. @param {string} path @param {Record<string, any>} [query] @param {AbortSignal} [signal] @returns {Promise<any>} */
export async function getShown(path, query, signal) {
  return jsonValue(await (await asked('GET', address(path, query), undefined, signal)).text());
}

/** @param {string} path @param {AbortSignal} [signal] @returns {Promise<string>} */
export async function getText(path, signal) {
  return (await asked('GET', address(path), undefined, signal)).text();
}

/** All rows of a list, page by page. @param {string} path @param {Record<string, any>} query @param {string} name @param {AbortSignal} signal @returns {Promise<any[]>} */
export async function all(path, query, name, signal) {
  const rows = [];
  for (let after = ''; ;) {
    const page = await get(path, { ...query, limit: 1000, after }, signal);
    rows.push(...page[name]);
    if (page.next === null) return rows;
    after = page.next;
  }
}

/** @param {string} path @param {any} [body] @param {Record<string, string>} [headers] @returns {Promise<any>} */
export async function post(path, body, headers) {
  return (await asked('POST', address(path), body, undefined, headers)).json();
}

/** @param {string} path */
export async function remove(path) {
  await asked('DELETE', address(path));
}

/** Send a text as it is. @param {string} path @param {string} text @param {Record<string, any>} query @returns {Promise<any>} */
export async function postText(path, text, query) {
  return (await asked('POST', address(path, query), text, undefined, { 'Content-Type': 'application/yaml' })).json();
}

/** @param {string} method @param {string} url @param {any} [body] @param {AbortSignal} [signal] @param {Record<string, string>} [headers] */
async function asked(method, url, body, signal, headers = {}) {
  /** @type {Record<string, string>} */
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
  const sent = body === undefined || headers['Content-Type'] ? body : jsonText(body);
  let response;
  try {
    response = await fetch(url, { method, body: sent, signal, headers: { ...type, ...headers }, credentials: 'same-origin', cache: 'no-store' });
  } catch (problem) {
    if (signal?.aborted) throw problem;
    throw new Refusal(0, 'the server cannot be reached');
  }
  if (!response.ok) throw await refusalOf(response);
  hearMissing(url, response);
  return response;
}

/** What a response that is no answer says. @param {Response} response @returns {Promise<Refusal>} */
async function refusalOf(response) {
  let text = `the server answered ${response.status}`;
  try {
    text = (await response.json()).detail || text;
  } catch {
    // what is no JSON says nothing that could be shown
  }
  if (response.status === 401) onSignedOut();
  return new Refusal(response.status, text);
}

/**
 * Follow the events of an execution behind a position, until it has ended or `signal` says so; a connection that breaks
 * is made again behind the last event that came. `printed` is called when tasks have printed more.
 * @param {string} id @param {number} after @param {(position: number, event: any) => void} heard
 * @param {(connected: boolean) => void} stands @param {() => void} printed @param {AbortSignal} signal
 */
export async function follow(id, after, heard, stands, printed, signal) {
  let pause = 500;
  while (!signal.aborted) {
    try {
      const response = await fetch(address(`executions/${encodeURIComponent(id)}/events`, { output: true }), {
        headers: { Accept: 'text/event-stream', 'Last-Event-ID': String(after) }, signal, cache: 'no-store',
      });
      if (!response.ok || !response.body) {
        const refusal = await refusalOf(response);
        if (refusal.status === 401 || refusal.status === 404) return;
        throw refusal;
      }
      stands(true);
      pause = 500;
      for await (const block of blocks(response.body)) {
        const { id: at, event, data } = block;
        if (event === 'end') return;
        if (event === 'again') break;
        if (event === 'output') {
          printed();
          continue;
        }
        after = Number(at);
        heard(after, JSON.parse(data));
      }
    } catch {
      // it is tried again, as long as somebody looks
    }
    if (signal.aborted) return;
    stands(false);
    await new Promise((resume) => setTimeout(resume, pause));
    pause = Math.min(pause * 2, 2000);
  }
}

/** The blocks of a stream of events (WHATWG HTML §9.2). @param {ReadableStream<Uint8Array>} body */
async function* blocks(body) {
  const reader = body.pipeThrough(/** @type {ReadableWritablePair<string, any>} */ (new TextDecoderStream())).getReader();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split('\n\n');
    text = parts.pop() || '';
    for (const part of parts) {
      /** @type {Record<string, string>} */
      const fields = {};
      for (const line of part.split('\n')) {
        const colon = line.indexOf(': ');
        if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 2);
      }
      if ('event' in fields) yield fields;
    }
  }
}
