// Forms that start a playbook: from its page, and again from an execution, with the version that ran or another one.

import { h, prose, show } from './dom.js';
import { ask, field, jsonOf, tell } from './forms.js';
import { isNumber, jsonText, numberIn } from './numbers.js';
import { all, getShown, post } from './server.js';

/**
 * What a start may bring. `value` is what it has by itself, or what an execution brought (`brought`).
 * @typedef {{name: string, required: boolean, schema: any, value: any, brought: boolean}} Declared
 * @typedef {{name: string, element: HTMLElement, read: () => any}} Input a control; `read` gives undefined where it is as it was
 */

/**
 * Declared inputs, else the keys of the workload, with the values that they have by themselves or that were brought.
 * @param {any} outline @param {Record<string, any>} [payload] @returns {Declared[]}
 */
export function declaredIn(outline, payload = {}) {
  const workload = outline.workload || {};
  const known = outline.inputs || outline.keys.map((/** @type {string} */ name) => ({ name, required: false, schema: {} }));
  return known.map((/** @type {any} */ one) => {
    const brought = Object.hasOwn(payload, one.name);
    return { ...one, brought, value: brought ? payload[one.name] : one.required ? one.schema.default : workload[one.name] ?? one.schema.default };
  });
}

/** Start something, and go there. @param {any} body @param {string} key */
async function begin(body, key) {
  const begun = await post('executions', body, { 'Idempotency-Key': key });
  for (const one of begun.warnings || []) tell(one, 'bad');
  location.hash = `#/executions/${encodeURIComponent(begun.execution_id)}`;
}

/** A key for each different request: the same one that is sent again, as its answer was lost, starts nothing twice. */
export function keys() {
  /** @type {Map<string, string>} */
  const made = new Map();
  return (/** @type {any} */ body) => {
    const text = jsonText(body);
    const key = made.get(text) || (Array.from(crypto.getRandomValues(new Uint32Array(4)), (one) => one.toString(16)).join('-'));
    made.set(text, key);
    return key;
  };
}

/** @param {Input[]} inputs @returns {Record<string, any>} */
function payloadOf(inputs) {
  return Object.fromEntries(inputs.map((one) => [one.name, one.read()]).filter(([, found]) => found !== undefined));
}

/** Ask for what a playbook takes. @param {any} row of the catalogue @param {any} outline */
export function start(row, outline) {
  const inputs = declaredIn(outline).map(inputOf);
  const key = keys();
  ask(`Start ${row.path}`, inputs.length ? inputs.map((one) => one.element) : [h('p', { class: 'hint' }, 'It takes no inputs.')], 'Start', async () => {
    const body = { playbook_id: row.playbook_id, payload: payloadOf(inputs) };
    await begin(body, key(body));
  });
}

/**
 * The versions of a playbook, and a control that chooses one: at first that which ran, also where the catalogue has it no more.
 * @param {string} path @param {string} digest of the plan that ran @param {(digest: string) => void} chosen @param {string} [word] how that one is told
 */
export async function versionsOf(path, digest, chosen, word = 'which ran') {
  const versions = await all('playbooks', { path }, 'playbooks', new AbortController().signal);
  const ran = versions.find((one) => one.playbook_id === digest);
  const said = (/** @type {any} */ one) => `version ${one.version}${one === ran ? `, ${word}` : ''}${one === versions[0] ? ', the newest' : ''}`;
  const others = versions.filter((one) => one !== ran);
  const choice = h('select', { onchange: () => chosen(choice.value) },
    ran ? null : h('option', { value: digest }, `the version ${word === 'which ran' ? 'that ran' : word}, which the catalogue does not have`),
    [...(ran ? [ran] : []), ...others].map((one) => h('option', { value: one.playbook_id }, said(one))));
  return { versions, choice, newer: ran && versions[0] !== ran ? `There is a newer one: version ${versions[0].version}.` : '' };
}

/**
 * Ask for what an execution is to be started again with: the values that it was started with, and a version.
 * @param {string} path @param {string} digest of the plan that ran @param {Record<string, any>} payload
 */
export async function startAgain(path, digest, payload) {
  const { versions, choice, newer } = await versionsOf(path, digest, (wanted) => draw(wanted));
  const form = h('div', { class: 'parts inner' });
  const warning = h('p', { class: 'problem', role: 'status', hidden: true });
  const other = h('textarea', { rows: 3, spellcheck: false });
  const key = keys();
  /** @type {Input[]} */
  let inputs = [];
  let asked = 0;

  /** @param {string} wanted digest of a version */
  async function draw(wanted) {
    asked += 1;
    const mine = asked;
    const outline = await getShown(`plans/${encodeURIComponent(wanted)}/outline`);
    if (mine !== asked) return;
    const known = declaredIn(outline, payload);
    inputs = known.map(inputOf);
    const strange = Object.keys(payload).filter((name) => !known.some((one) => one.name === name));
    const listed = strange.map((name) => `\`${name}\``).join(', ');
    const version = versions.find((one) => one.playbook_id === wanted);
    const word = version ? `Version ${version.version}` : 'That version';
    warning.hidden = !strange.length;
    // Where inputs are declared, the server refuses all others.
    show(warning, prose(outline.inputs ? `${word} has no input ${listed}: left out here.` : `${word} has no ${listed} in its workload, and may not read what stands below.`));
    other.value = strange.length && !outline.inputs ? jsonText(Object.fromEntries(strange.map((name) => [name, payload[name]])), 2) : '';
    show(form, inputs.map((one) => one.element), outline.inputs ? null : field('Other values (JSON)', other, 'Names that its workload does not have.'), inputs.length ? null : h('p', { class: 'hint' }, 'It takes no inputs.'));
  }

  await draw(digest);
  ask(`Start ${path} again`, [field('Version', choice, newer), warning, form], 'Start', async () => {
    const more = jsonOf(other.value, 'What is there');
    if (more !== undefined && (typeof more !== 'object' || more === null || Array.isArray(more))) throw new Error('Other values are a mapping of names: {"name": …}');
    const body = { playbook_id: choice.value, payload: { ...more, ...payloadOf(inputs) } };
    await begin(body, key(body));
  });
}

/** Names of types of controls by the format of a text. @type {Record<string, string>} */
const CONTROLS = { date: 'date', 'date-time': 'datetime-local', email: 'email', uri: 'url' };

/** A control for a value. @param {Declared} one @returns {Input} */
export function inputOf(one) {
  const { name, required, schema } = one;
  const kind = Array.isArray(schema.type) ? '' : schema.type || (one.value === null || one.value === undefined ? '' : Array.isArray(one.value) ? 'array' : isNumber(one.value) ? 'number' : typeof one.value);
  const label = required ? `${name} *` : name;
  const hint = schema.description || '';
  /** What is sent where nobody changed anything. */
  const kept = one.brought ? one.value : undefined;
  if (Array.isArray(schema.enum)) return choiceOf(one, label, hint, kept);
  if (kind === 'boolean') {
    const box = h('input', { type: 'checkbox', checked: one.value === true });
    return { name, element: field(label, box, hint), read: () => (!required && box.checked === (one.value === true) ? kept : box.checked) };
  }
  if (kind === 'string' && (one.value === undefined || one.value === null || typeof one.value === 'string')) return textOf(one, label, hint, kept);
  if ((kind === 'number' || kind === 'integer') && (one.value === undefined || one.value === null || isNumber(one.value))) {
    const input = h('input', { type: 'number', step: kind === 'integer' ? 1 : 'any', required, value: one.value ?? '', min: schema.minimum ?? '', max: schema.maximum ?? '' });
    const before = input.value;
    return { name, element: field(label, input, hint), read: () => (input.value === before && !required ? kept : input.value === '' ? undefined : numberIn(input.value, kind === 'integer')) };
  }
  const text = h('textarea', { rows: 3, spellcheck: false, required, value: one.value === undefined || one.value === null ? '' : jsonText(one.value, 2) });
  const before = text.value;
  return { name, element: field(`${label} (JSON)`, text, hint), read: () => (text.value === before && !required ? kept : jsonOf(text.value, name)) };
}

/** One of several values. @param {Declared} one @param {string} label @param {string} hint @param {any} kept @returns {Input} */
function choiceOf(one, label, hint, kept) {
  const values = one.schema.enum;
  const itself = one.value === undefined ? 'as it is' : `as it is: ${String(one.value)}`;
  const select = h('select', null, one.required || one.brought ? null : h('option', { value: '' }, `(${itself})`),
    values.map((/** @type {any} */ value, /** @type {number} */ n) => h('option', { value: n, selected: (one.brought || one.required) && jsonText(value) === jsonText(one.value) }, String(value))));
  const before = select.value;
  return { name: one.name, element: field(label, select, hint), read: () => (select.value === before && !one.required ? kept : select.value === '' ? undefined : values[Number(select.value)]) };
}

/** A text, of a date or time by a control that knows them. @param {Declared} one @param {string} label @param {string} hint @param {any} kept @returns {Input} */
function textOf(one, label, hint, kept) {
  const { name, required, schema } = one;
  const moment = schema.format === 'date-time';
  const type = CONTROLS[schema.format] || 'text';
  const known = typeof one.value === 'string' ? one.value : '';
  const value = moment ? localOf(known) : known;
  const input = h('input', { type, required, value, step: moment ? 1 : '', minLength: schema.minLength ?? 0, maxLength: schema.maxLength ?? 524288 });
  // A default that the control has no room for, as an expression that makes no date, stays what it is.
  const fits = known === '' || input.value !== '';
  const control = fits ? input : h('input', { type: 'text', required, value: known });
  const before = control.value;
  const zone = moment && fits ? `${hint ? `${hint} ` : ''}In the time zone of this browser, UTC${offsetOf(new Date())}.` : hint;
  return { name, element: field(label, control, zone), read: () => (control.value === before && !required ? kept : control.value === before && known ? known : moment && fits ? momentOf(control.value) : control.value) };
}

/** The offset of the browser's time zone at a moment, as `+01:00`. @param {Date} at */
function offsetOf(at) {
  const minutes = -at.getTimezoneOffset();
  const two = (/** @type {number} */ n) => String(Math.floor(Math.abs(n))).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`;
}

/** A moment (RFC 3339) as the control has it, in the browser's time zone; empty where it is none. @param {string} text */
function localOf(text) {
  const at = new Date(text);
  if (!text || Number.isNaN(at.getTime())) return '';
  return new Date(at.getTime() - at.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

/** A moment with its offset, from what the control has. @param {string} text */
function momentOf(text) {
  if (!text) return undefined;
  return `${text.length === 16 ? `${text}:00` : text}${offsetOf(new Date(text))}`;
}
