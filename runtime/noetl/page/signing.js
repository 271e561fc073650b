// The form that signs somebody in: at the provider of OpenID Connect, where the server has one, or with a token.

import { h, show, wordsOf } from './dom.js';
import { field } from './forms.js';
import { address, get, post } from './server.js';

/** Why no sign-in came of going to the provider, by the word that the server says. An address can bring no other text here. @type {Map<string | null, string>} */
const SENTENCES = new Map([
  ['state', 'This sign-in was not begun in this browser, or more than ten minutes ago. Sign in again from here.'],
  ['denied', 'The provider did not sign you in.'],
  ['role', 'The provider knows you, but no rule of this server gives you a role. Ask who runs it, or sign in as somebody else.'],
  ['provider', 'The provider cannot be reached, or its answer cannot be used. Try again; the log of the server says more.'],
  ['token', 'What the provider says of you cannot be verified. The log of the server says more.'],
  ['busy', 'Many people sign in at this moment. Try again.'],
]);

/** The sentence for a word in the address, empty for none. @param {string | null} word */
export function failure(word) {
  return SENTENCES.get(word) || '';
}

/** The host of an address, or all of it where it has none. @param {string} url */
export function hostOf(url) {
  try {
    return new URL(url).host;
  } catch {
    return url;
  }
}

/**
 * A form that signs in; `place` is where to go on, `done` is called with who it is.
 * @param {string} why @param {string} place @param {boolean} afresh @param {(person: any) => void} done
 */
export function signInForm(why, place, afresh, done) {
  const token = h('input', { type: 'password', required: true, autocomplete: 'current-password', spellcheck: false, maxLength: 512 });
  const problem = h('p', { class: 'problem', role: 'alert', hidden: !why }, why);
  const send = async (/** @type {Event} */ event) => {
    event.preventDefault();
    try {
      done(await post('sign-in', { token: token.value.trim() }));
    } catch (error) {
      problem.hidden = false;
      show(problem, wordsOf(error));
    }
  };
  const provider = h('div', { class: 'provider', hidden: true });
  const form = h('form', { class: 'sign-in', onsubmit: send }, h('img', { src: 'page/icon.svg', alt: '', width: 48, height: 48 }), h('h1', null, 'Sign in'),
    problem, provider,
    field('Token', token, 'noetl token add NAME --role viewer makes one. It stays in a cookie that no script can read, for 12 hours.'),
    h('button', { class: 'primary', type: 'submit' }, 'Sign in'));
  offer(provider, place, afresh);
  return { form, token };
}

/** Offer the provider, where there is one. @param {HTMLElement} part @param {string} place @param {boolean} afresh */
async function offer(part, place, afresh) {
  try {
    const { oidc } = await get('sign-in');
    if (!oidc) return;
    const href = address('sign-in/oidc', { place, afresh: afresh && 'true' });
    show(part, h('a', { class: 'button primary', href }, `Sign in with ${hostOf(oidc.issuer)}`), h('p', null, 'or with a token:'));
    part.hidden = false;
  } catch {
    // who has a token signs in all the same
  }
}
