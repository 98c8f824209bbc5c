/** Writes a .br file beside every asset that compresses, which the service sends as it is. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants } from 'node:zlib';
import type { Plugin } from 'vite';

export function brotli(): Plugin {
  return {
    name: 'brotli',
    apply: 'build',
    writeBundle({ dir }) {
      const folder = join(dir!, 'assets');
      for (const name of readdirSync(folder).filter((file) => /\.(js|css)$/.test(file))) {
        const data = readFileSync(join(folder, name));
        const packed = brotliCompressSync(data, {
          params: { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: data.length },
        });
        writeFileSync(join(folder, `${name}.br`), packed);
      }
    },
  };
}
