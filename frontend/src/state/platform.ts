/** How the keys of this machine are called. */
const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
export const modifier = isMac ? '⌘' : 'Ctrl';
