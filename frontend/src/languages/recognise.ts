/** Which language a text is written in, by what only that language has. */
import type { Language } from '../api/types';

const PYTHON = /^[ \t]*(?:from|import)[ \t]+(?:numba|cupy)\b/m;
const NUMBA = /^[ \t]*@(?:numba\.)?cuda\.jit\b|^[ \t]*(?:from[ \t]+numba\b|import[ \t]+numba\b)/m;
const CUPY = /^[ \t]*(?:from|import)[ \t]+cupy\b/m;
const CUPY_KERNEL = /\b(?:RawKernel|RawModule|ElementwiseKernel|ReductionKernel)\s*\(/;
const PTX = /^[ \t]*\.version[ \t]+\d+\.\d+|^[ \t]*(?:\.(?:visible|weak)[ \t]+)?\.entry\b/m;
const CUDA = /\b__global__\b|^[ \t]*#[ \t]*include\b/m;

/** Strings and comments of Python, long strings first. */
const PYTHON_TEXT = /("""|''')[\s\S]*?\1|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|#.*$/gm;

const withoutStrings = (python: string): string => python.replace(PYTHON_TEXT, '""');
const withoutComments = (code: string): string => code.replace(/\/\*[\s\S]*?\*\//g, ' ').replace(/\/\/.*$/gm, '');

/**
 * The language of a whole source, or `cupy` for Python that makes kernels through CuPy.
 *
 * Null where nothing tells, or where the text mixes languages, as when Python is pasted below a CUDA kernel.
 */
export function recognise(text: string): Language | 'cupy' | null {
  const python = withoutStrings(text);
  if (PYTHON.test(python) || NUMBA.test(python)) {
    if (/\b__global__\b/.test(python) || PTX.test(python)) return null;
    if (NUMBA.test(python)) return 'numba';
    return CUPY.test(python) && CUPY_KERNEL.test(python) ? 'cupy' : null;
  }
  const code = withoutComments(text);
  const [ptx, cuda] = [PTX.test(code), CUDA.test(code)];
  if (ptx === cuda) return null;
  return ptx ? 'ptx' : 'cuda-c++';
}
