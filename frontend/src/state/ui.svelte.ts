/** What the shell shows: theme, panes, tabs, dialogs and short notices. */
import type { Draft } from '../document/draft';

export type Tab = 'output' | 'occupancy' | 'ptx' | 'timing' | 'sizes' | 'reference' | 'gpus' | 'grid';
export type Pane = 'code' | 'launch' | 'results' | 'library';
export type Dialog = 'commands' | 'keys' | 'share' | 'fork' | 'compare';
export type Drawer = 'examples' | 'history';
export type Theme = 'dark' | 'light';

export const TABS: readonly [Tab, string][] = [
  ['output', 'Output'],
  ['occupancy', 'Occupancy'],
  ['ptx', 'PTX'],
  ['timing', 'Timing'],
  ['sizes', 'Sizes'],
  ['reference', 'Reference'],
  ['gpus', 'GPUs'],
  ['grid', 'Grid'],
];

const THEME_KEY = 'warpyard.theme';

function stored(): Theme | null {
  const value = localStorage.getItem(THEME_KEY);
  return value === 'dark' || value === 'light' ? value : null;
}

/** Said above the source until it is closed, with what can be done about it. */
export interface Remark {
  text: string;
  offers: readonly { label: string; act(): void }[];
  /** The document that it speaks of. */
  key: string;
  /** The source that it speaks of, and the draft before it: the editor's own undo may bring that one's text back. */
  source: string;
  undone: Draft | null;
}

class Ui {
  theme = $state<Theme>('dark');
  tab = $state<Tab>('output');
  pane = $state<Pane>('code');
  drawer = $state<Drawer | null>(null);
  dialog = $state<Dialog | null>(null);
  /** The two runs of the dialog that compares. */
  compared = $state.raw<readonly string[]>([]);
  remark = $state.raw<Remark | null>(null);
  notice = $state<{ text: string; bad: boolean } | null>(null);
  /** A place in the source to show; `turn` makes each wish a new one. */
  jump = $state.raw<{ line: number; column: number; turn: number } | null>(null);
  /** Source line under the pointer or the cursor, 0 for none. */
  hotLine = $state(0);
  /** A line of the NumPy reference to show. */
  referenceLine = $state.raw<{ line: number } | null>(null);
  private timer: ReturnType<typeof setTimeout> | undefined;

  start(): void {
    const prefersLight = matchMedia('(prefers-color-scheme: light)');
    this.apply(stored() ?? (prefersLight.matches ? 'light' : 'dark'));
    prefersLight.addEventListener('change', (event) => {
      if (!stored()) this.apply(event.matches ? 'light' : 'dark');
    });
  }

  toggleTheme(): void {
    const next = this.theme === 'dark' ? 'light' : 'dark';
    localStorage.setItem(THEME_KEY, next);
    this.apply(next);
  }

  show(tab: Tab): void {
    this.tab = tab;
    this.pane = 'results';
  }

  /** A pane of a narrow screen; “Examples” is never the history that was open before. */
  openPane(pane: Pane): void {
    if (pane === 'library' && this.drawer === 'history') this.drawer = 'examples';
    this.pane = pane;
  }

  gotoReference(line: number): void {
    this.show('reference');
    this.referenceLine = { line };
  }

  goto(line: number, column = 1): void {
    this.pane = 'code';
    this.jump = { line, column, turn: (this.jump?.turn ?? 0) + 1 };
  }

  say(text: string, bad = false): void {
    this.notice = { text, bad };
    clearTimeout(this.timer);
    this.timer = setTimeout(() => (this.notice = null), bad ? 8000 : 3500);
  }

  private apply(theme: Theme): void {
    this.theme = theme;
    document.documentElement.dataset.theme = theme;
  }
}

export const ui = new Ui();
