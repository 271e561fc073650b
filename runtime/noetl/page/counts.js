// How many executions there are of each kind, for what the filter shows; each kind leads to its executions.

import { h, show } from './dom.js';
import { get } from './server.js';

const GROUPS = ['status', 'error', 'playbook'];
const MOST = 50;

/** A text as a query has it. @param {string} text */
export const quoted = (text) => (/^[\w./@-]+$/.test(text) ? text : `'${text.replace(/([\\'*?])/g, '\\$1')}'`);

/** The choice of what is counted, and the counts. @param {(group: string) => void} choose @param {(term: string) => void} narrow */
export function countsPanel(choose, narrow) {
  const select = h('select', { 'aria-label': 'Count by', onchange: () => choose(select.value) });
  const element = h('div', { class: 'names', role: 'group', 'aria-label': 'Counts', hidden: true });

  /** Show what was counted. @param {string} group @param {Record<string, any>} filters @param {Set<string>} names labels and search attributes that are there @param {AbortSignal} signal */
  async function draw(group, filters, names, signal) {
    const groups = [...new Set([...GROUPS, ...names, ...(group ? [group] : [])])];
    show(select, h('option', { value: '' }, 'No counts'), groups.map((one) => h('option', { value: one, selected: one === group }, `Count by ${one}`)));
    element.hidden = !group;
    if (!group) return;
    const page = await get(`counts/${encodeURIComponent(group)}`, { ...filters, limit: MOST }, signal);
    /** @type {{value: string | null, count: number}[]} */
    const rows = page.counts;
    show(element, rows.map(({ value, count }) => h('button', {
      type: 'button', class: 'chip', onclick: () => narrow(value === null ? `-${group}:'*'` : `${group}:${quoted(value)}`),
    }, value === null ? '(none)' : value || "''", h('small', null, count.toLocaleString('en')))), page.next === null ? null : h('small', null, '…'));
  }

  return { select, element, draw };
}
