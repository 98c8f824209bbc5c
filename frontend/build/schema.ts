/** `npm run types`: src/api/schema.ts from the protocol's models (`PYTHON` names the interpreter). */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

const here = (path: string) => new URL(path, import.meta.url);
const text = execFileSync(process.env.PYTHON ?? 'python3', [here('schema.py').pathname], { encoding: 'utf8' });
const types = astToString(await openapiTS(text, { alphabetize: true, defaultNonNullable: false }));
const digest = createHash('sha256').update(text).digest('hex');
writeFileSync(here('../src/api/schema.ts'), `// Made by \`npm run types\` from the protocol's models; sha256 ${digest}\n${types}`);
