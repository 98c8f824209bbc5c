/** Makes the CUDA parser at build time: the C++ grammar that @lezer/cpp ships, with CUDA's additions patched in. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { buildParserFile } from '@lezer/generator';
import type { Plugin } from 'vite';

const PREFIX = '\0cuda-grammar/';
const PUBLIC = 'virtual:cuda-parser';

/** [what the shipped grammar says, what CUDA needs]; a text that is missing or found twice fails the build. */
const GRAMMAR: [string, string][] = [
  [
    'storageClassSpecifier {\n  kw<"extern">',
    `CudaSpecifier {
  @specialize[@name=CudaKeyword]<identifier, "__global__" | "__device__" | "__host__" | "__shared__" | "__constant__" |
    "__managed__" | "__grid_constant__" | "__forceinline__" | "__noinline__" | "__inline_hint__" | "__tile_global__"> |
  @specialize[@name=CudaBounds]<identifier, "__launch_bounds__" | "__maxnreg__" | "__cluster_dims__" | "__block_size__" |
    "__align__" | "__nv_pure__"> !arguments ArgumentList
}

storageClassSpecifier {
  CudaSpecifier | kw<"extern">`,
  ],
  ['"__restrict" | "__uptr"', '"__restrict" | "__restrict__" | "__uptr"'],
  [
    'CallExpression[@dynamicPrecedence=1] {\n  expression !arguments ArgumentList |',
    `LaunchConfig { LaunchOpen commaSep<expression> LaunchClose }

CallExpression[@dynamicPrecedence=1] {
  expression !arguments LaunchConfig ArgumentList |
  expression !arguments ArgumentList |`,
  ],
  [
    'expression[@isGroup=Expression] {',
    `CudaVariable {
  @specialize[@name=CudaVariableName]<identifier, "threadIdx" | "blockIdx" | "blockDim" | "gridDim" | "warpSize">
}

expression[@isGroup=Expression] {
  CudaVariable |`,
  ],
  ['classSpecifier {\n  MsDeclspecModifier? Attribute*', 'classSpecifier {\n  (MsDeclspecModifier | CudaSpecifier)? Attribute*'],
  [
    'nonCaseStatement {\n  LabeledStatement |',
    `AsmStatement {
  @specialize[@name=AsmKeyword]<identifier, "asm" | "__asm__" | "__asm">
  (kw<"volatile"> | @specialize[@name=AsmKeyword]<identifier, "__volatile__">)?
  "(" (String | RawString | ConcatenatedString) ((":" | "::") commaSep<AsmOperand>)* ")" ";"
}

AsmOperand { ("[" Identifier "]")? String ParenthesizedExpression? }

nonCaseStatement {
  AsmStatement |
  LabeledStatement |`,
  ],
  [
    'templateArgsEnd[@name=">"] { ">" }\n',
    `templateArgsEnd[@name=">"] { ">" }

  LaunchOpen[@name="<<<"] { "<<<" }

  LaunchClose[@name=">>>"] { ">>>" }

  @precedence { LaunchClose, templateArgsEnd }
  @precedence { LaunchClose, BitOp }
  @precedence { LaunchOpen, BitOp }
`,
  ],
  [
    'LambdaCaptureSpecifier (TemplateParameterList RequiresClause)? AbstractFunctionDeclarator?',
    'LambdaCaptureSpecifier CudaSpecifier* (TemplateParameterList RequiresClause)? AbstractFunctionDeclarator?',
  ],
];

const HIGHLIGHT: [string, string][] = [
  [
    'this: t.self,',
    `this: t.self,
  "CudaKeyword CudaBounds AsmKeyword": t.special(t.modifier),
  CudaVariableName: t.special(t.variableName),
  "<<< >>>": t.special(t.bracket),`,
  ],
];

function patched(text: string, changes: [string, string][]): string {
  return changes.reduce((result, [before, after]) => {
    const parts = result.split(before);
    if (parts.length !== 2) throw new Error(`the C++ grammar holds this text ${parts.length - 1} times: ${before}`);
    return parts.join(after);
  }, text);
}

/** The generator takes seconds, so its answer is kept beside the installed packages. */
function generate(): Record<string, string> {
  const folder = join(dirname(createRequire(import.meta.url).resolve('@lezer/cpp')), '../src');
  const read = (name: string) => readFileSync(join(folder, name), 'utf8');
  const grammar = patched(read('cpp.grammar'), GRAMMAR);
  const cache = new URL(`../node_modules/.cache/cuda-grammar/${createHash('sha256').update(grammar).digest('hex')}.json`, import.meta.url);
  if (!existsSync(cache)) {
    const { parser, terms } = buildParserFile(grammar, { moduleStyle: 'es' });
    mkdirSync(new URL('.', cache), { recursive: true });
    writeFileSync(cache, JSON.stringify({ parser, 'parser.terms': terms }));
  }
  return {
    ...(JSON.parse(readFileSync(cache, 'utf8')) as Record<string, string>),
    tokens: read('tokens.js'),
    highlight: patched(read('highlight.js'), HIGHLIGHT),
  };
}

export function cudaGrammar(): Plugin {
  let modules: Record<string, string> | undefined;
  return {
    name: 'cuda-grammar',
    resolveId(id, importer) {
      if (id === PUBLIC) return `${PREFIX}parser`;
      if (importer?.startsWith(PREFIX) && id.startsWith('./')) return PREFIX + id.slice(2).replace(/\.js$/, '');
      return null;
    },
    load(id) {
      if (!id.startsWith(PREFIX)) return null;
      modules ??= generate();
      return modules[id.slice(PREFIX.length)];
    },
  };
}
