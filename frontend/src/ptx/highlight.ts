/** PTX, for the view of what a source became and for sources in it. */
import { StreamLanguage } from '@codemirror/language';

const TOKENS: [RegExp, string][] = [
  [/^@!?%?\w+/, 'meta'],
  [/^\$\w+:?/, 'labelName'],
  [/^%(tid|ctaid|ntid|nctaid|laneid|warpid|clock|smid|gridid)\b[\w.]*/, 'variableName.special'],
  [/^%[\w.]+/, 'typeName'],
  [/^0[fFdD][0-9a-fA-F]+|^0[xX][0-9a-fA-F]+|^-?\d+/, 'number'],
  [/^\.[a-zA-Z_]\w*/, 'keyword'],
  [/^"[^"]*"/, 'string'],
  [/^[a-z]\w*(\.[\w:]+)+|^(ret|exit|bra|call|trap)\b/, 'variableName.function'],
  [/^[A-Za-z_]\w*/, 'variableName'],
];

export const ptx = StreamLanguage.define<{ comment: boolean }>({
  name: 'ptx',
  languageData: {
    commentTokens: { line: '//', block: { open: '/*', close: '*/' } },
    closeBrackets: { brackets: ['(', '[', '{', '"'] },
  },
  startState: () => ({ comment: false }),
  token(stream, state) {
    if (state.comment || stream.match('/*')) {
      state.comment = !stream.match(/^.*?\*\//);
      if (state.comment) stream.skipToEnd();
      return 'comment';
    }
    if (stream.eatSpace()) return null;
    if (stream.match('//')) {
      stream.skipToEnd();
      return 'comment';
    }
    for (const [pattern, name] of TOKENS) if (stream.match(pattern)) return name;
    stream.next();
    return null;
  },
});
