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
import { hoverTooltip } from '@codemirror/view';
import { parser } from 'virtual:cuda-parser';

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

async function complete(context: CompletionContext): Promise<CompletionResult | null> {
  const word = context.matchBefore(/[A-Za-z_]\w*/);
  if (!context.explicit && (!word || word.to - word.from < 2)) return null;
  return (await import('./cuda-help')).complete(context);
}

export const cuda = (): Extension => [
  new LanguageSupport(language),
  autocompletion({ override: [complete], icons: false }),
  hoverTooltip(async (view, position) => (await import('./cuda-help')).hover(view, position), { hoverTime: 250 }),
];
