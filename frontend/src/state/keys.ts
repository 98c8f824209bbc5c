/** Keys that work everywhere on the page. */
import { saveSource } from './files';
import { trySizes } from './openings';
import { run } from './run.svelte';
import { TABS, ui } from './ui.svelte';

const TYPING = 'input, select, textarea, .cm-content';

/** Moves the focus to the next pane that is visible. */
function nextPane(backwards: boolean): void {
  const panes = [...document.querySelectorAll<HTMLElement>('[data-pane]')].filter((pane) => pane.offsetParent);
  const current = panes.findIndex((pane) => pane.contains(document.activeElement));
  const step = backwards ? -1 : 1;
  const pane = panes[(Math.max(current, backwards ? 0 : -1) + step + panes.length) % panes.length];
  const target = pane?.querySelector<HTMLElement>('.cm-content, [role=tab][aria-selected=true], input:not([tabindex="-1"]), button');
  target?.focus();
}

/** True where the key was one of ours. */
function act(event: KeyboardEvent, openFile: () => void): boolean {
  const modified = event.ctrlKey || event.metaKey;
  const key = event.key.toLowerCase();
  const tab = event.altKey && !modified ? TABS[Number(/^Digit([1-9])$/.exec(event.code)?.[1]) - 1] : undefined;
  if (modified && event.shiftKey && key === 'enter') void trySizes();
  else if (modified && key === 'enter') void run.start();
  else if (modified && key === 'k') ui.dialog = ui.dialog === 'commands' ? null : 'commands';
  else if (modified && key === 's') saveSource();
  else if (modified && key === 'o') openFile();
  else if (tab) ui.show(tab[0]);
  else if (event.key === 'F6') nextPane(event.shiftKey);
  else if (event.key === '?' && !(event.target as Element).closest(TYPING)) ui.dialog = 'keys';
  else return false;
  return true;
}

export function keyPressed(event: KeyboardEvent, openFile: () => void): void {
  if (!event.defaultPrevented && act(event, openFile)) event.preventDefault();
}
