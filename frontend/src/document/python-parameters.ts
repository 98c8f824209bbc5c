/** What a Python kernel's text tells of its parameters before it is compiled for the types of a launch. */
import type { Parameter } from '../api/types';

/**
 * A parameter that the text indexes, or asks for its size, is an array, and one that nothing is stored to is read only;
 * any other is a number. A guess to start the form with: the user's choice stands above it.
 */
export function guessed(parameter: Parameter, source: string): Parameter {
  const has = (before: string, after: string) => new RegExp(`${before}\\b${parameter.name}\\b${after}`).test(source);
  if (!has('', '\\s*(\\[|\\.(size|shape|ndim|dtype)\\b)') && !has('\\b(len|atomic\\.\\w+)\\(\\s*', '')) return { ...parameter, kind: 'scalar' };
  const written = has('', '\\s*\\[[^=\\n]*\\]\\s*([-+*/%&|^@]|<<|>>|\\*\\*|//)?=(?!=)') || has('atomic\\.\\w+\\(\\s*', '');
  return { ...parameter, kind: 'pointer', dtype: 'float32', const: !written };
}
