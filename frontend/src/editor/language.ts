/** CUDA C++ for the editor: highlighting, folding, indentation, and help from our own table of names. */
import { type CompletionContext, type CompletionResult, autocompletion } from '@codemirror/autocomplete';
import {
  continuedIndent,
  delimitedIndent,
  foldInside,
  foldNodeProp,
  indentNodeProp,
  LanguageSupport,
  LRLanguage,
} from '@codemirror/language';
import type { Extension } from '@codemirror/state';
import { type EditorView, hoverTooltip, type Tooltip } from '@codemirror/view';
import { parser } from 'virtual:cuda-parser';
import type { CudaName } from './names';

const language = LRLanguage.define({
  name: 'cuda',
  parser: parser.configure({
    props: [
      indentNodeProp.add({
        CompoundStatement: delimitedIndent({ closing: '}' }),
        Statement: continuedIndent({ except: /^({|case\b|default\b)/ }),
      }),
      foldNodeProp.add({
        'CompoundStatement FieldDeclarationList': foldInside,
        BlockComment: (node) => ({ from: node.from + 2, to: node.to - 2 }),
      }),
    ],
  }),
  languageData: {
    commentTokens: { line: '//', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', '[', '{', "'", '"'] },
    wordChars: '_',
  },
});

/** The table is a chunk of its own, fetched when it is first needed. */
const names = async (): Promise<ReadonlyMap<string, CudaName>> => (await import('./names')).NAMES;

function card({ signature, text, since }: CudaName): HTMLElement {
  const element = document.createElement('div');
  element.className = 'cuda-name';
  const code = document.createElement('code');
  code.textContent = signature;
  const prose = document.createElement('p');
  prose.textContent = text;
  element.append(code, prose);
  if (since) {
    const chip = document.createElement('span');
    chip.className = 'chip';
    chip.textContent = `${since} and later`;
    element.append(chip);
  }
  return element;
}

function wordAt(view: EditorView, position: number): { from: number; to: number; text: string } {
  const line = view.state.doc.lineAt(position);
  const before = /\w*$/.exec(line.text.slice(0, position - line.from))![0].length;
  const after = /^\w*/.exec(line.text.slice(position - line.from))![0].length;
  const [from, to] = [position - before, position + after];
  return { from, to, text: view.state.doc.sliceString(from, to) };
}

async function hover(view: EditorView, position: number): Promise<Tooltip | null> {
  const { from, to, text } = wordAt(view, position);
  const name = text ? (await names()).get(text) : undefined;
  return name ? { pos: from, end: to, above: true, create: () => ({ dom: card(name) }) } : null;
}

/** Words of the source itself, so that the user's own names complete too. */
function ownWords(context: CompletionContext, taken: ReadonlyMap<string, CudaName>, at: number): string[] {
  const found = new Set<string>();
  for (const match of context.state.doc.toString().matchAll(/\b[A-Za-z_]\w{2,}\b/g)) {
    if (match.index !== at && !taken.has(match[0])) found.add(match[0]);
  }
  return [...found];
}

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[A-Za-z_]\w*/);
  if (!word && !context.explicit) return null;
  if (word && word.to - word.from < 2 && !context.explicit) return null;
  const table = await names();
  const from = word?.from ?? context.pos;
  const known = [...table].map(([label, name]) => ({
    label,
    type: name.kind,
    detail: name.kind === 'function' ? name.signature.replace(/^.*?\(/, '(') : '',
    info: () => card(name),
    boost: 1,
  }));
  const own = ownWords(context, table, from).map((label) => ({ label, type: 'text' }));
  return { from, validFor: /^\w*$/, options: [...known, ...own] };
}

export const cuda = (): Extension => [
  new LanguageSupport(language),
  autocompletion({ override: [complete], icons: false }),
  hoverTooltip(hover, { hoverTime: 250 }),
];
