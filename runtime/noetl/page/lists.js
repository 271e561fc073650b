// How the lists of the page stood when somebody left them, for the links that lead back.

/** Without storage, as some browsers have it for pages that are opened from elsewhere, they stand here. @type {Map<string, string>} */
const left = new Map();

/** Keep the filters of a list. @param {string} name its place, as `executions` @param {URLSearchParams} query */
export function leave(name, query) {
  left.set(name, query.toString());
  try {
    sessionStorage.setItem(`noetl ${name}`, query.toString());
  } catch {
    // what is not kept is not there after a reload
  }
}

/** The address of a list as it stood. @param {string} name @returns {string} */
export function back(name) {
  let words = left.get(name);
  try {
    words ??= sessionStorage.getItem(`noetl ${name}`) || '';
  } catch {
    words ??= '';
  }
  return `#/${name}${words ? `?${words}` : ''}`;
}

/** Put the filters of a list into the address, which no view is made anew for. @param {string} name @param {URLSearchParams} query */
export function stand(name, query) {
  leave(name, query);
  history.replaceState(null, '', back(name));
}
