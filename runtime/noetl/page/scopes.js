// The scope of whoever is signed in: which playbooks and pools, until when, and what cannot be seen for it.

import { h } from './dom.js';
import { millis, moment } from './times.js';

/** Whether a person sees some playbooks or pools only. @param {import('./app.js').Person} person */
export const isLimited = (person) => person.paths.length > 0 || person.pools.length > 0;

/** The scope of a token in words, empty for one without. @param {{paths: string[], pools: string[]}} one */
export function scopeWords(one) {
  const paths = one.paths.length ? [`playbooks ${one.paths.join(', ')}`] : [];
  return [...paths, ...(one.pools.length ? [`pools ${one.pools.join(', ')}`] : [])].join(' in ');
}

/** When a token ends, in words; empty for one that never does. @param {{expires: string | null}} one */
export const endWords = (one) => (one.expires ? `until ${moment(millis(one.expires))}` : '');

/** Why a list has fewer rows than somebody may expect, null where it has all. @param {import('./app.js').Person} person */
export const scopeHint = (person) => (person.paths.length ? h('p', { class: 'hint scope' }, `You see ${scopeWords({ ...person, pools: [] })} only: ${person.issuer ? 'what you may do' : 'your token'} is for these.`) : null);
