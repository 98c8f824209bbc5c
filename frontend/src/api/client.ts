/** The calls of the HTTP API, with every failure put in words. */
import type {
  Accepted,
  Comparison,
  Devices,
  Example,
  FieldProblem,
  InspectReport,
  InspectRequest,
  Place,
  Recognised,
  RunRequest,
  SharedLink,
  SharePayload,
  StoredRun,
  StoredShare,
  UploadedArray,
} from './types';

/** A refused call. `status` is 0 where no answer came; `fields` name what to mend. */
export class ApiError extends Error {
  override name = 'ApiError';
  constructor(
    message: string,
    readonly status: number,
    readonly fields: FieldProblem[] = [],
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

/** Whether a later try may go well: no connection, too many requests, no worker or no broker for a while. */
export const passing = (error: unknown): error is ApiError =>
  error instanceof ApiError && [0, 429, 502, 503, 504].includes(error.status);

interface ProblemBody {
  title?: string;
  detail?: string;
  errors?: FieldProblem[];
}

const FALLBACK: Record<number, string> = {
  404: 'The service does not know this address.',
  413: 'This is larger than the service accepts.',
  429: 'Too many requests.',
  502: 'The service is restarting.',
  503: 'No worker is free to answer.',
  504: 'No worker answered in time.',
};

function inWords(status: number, problem: ProblemBody, retryAfter: number | null): string {
  let text = problem.detail || problem.title || FALLBACK[status] || `The service answered with status ${status}.`;
  if (!/[.!?]$/.test(text)) text += '.';
  if (retryAfter !== null && !/\d+ s/.test(text)) text += ` Try again in ${retryAfter} s.`;
  return text;
}

export type ExportFormat = 'cupy' | 'cu' | 'kernel-tuner';

async function answer(path: string, init: RequestInit = {}): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    const why = navigator.onLine
      ? 'The service does not answer. It may be restarting; nothing that you typed is lost.'
      : 'This browser is offline. Nothing that you typed is lost; run again once the connection is back.';
    throw new ApiError(why, 0);
  }
  if (!response.ok) {
    const problem = (await response.json().catch(() => ({}))) as ProblemBody;
    const seconds = Number.parseInt(response.headers.get('retry-after') ?? '', 10);
    const retryAfter = Number.isFinite(seconds) ? seconds : null;
    throw new ApiError(inWords(response.status, problem, retryAfter), response.status, problem.errors ?? [], retryAfter);
  }
  return response;
}

const call = async <T>(path: string, init: RequestInit = {}): Promise<T> => (await (await answer(path, init)).json()) as T;

function post<T>(path: string, body: unknown, signal?: AbortSignal): Promise<T> {
  return call<T>(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
    ...(signal ? { signal } : {}),
  });
}

const segment = encodeURIComponent;

export const api = {
  run: (request: RunRequest) => post<Accepted>('/api/runs', request),
  storedRun: (id: string) => call<StoredRun>(`/api/runs/${segment(id)}`),
  /** How many runs are taken up before a waiting one, and in about how many seconds it is. */
  place: (id: string) => call<Place>(`/api/runs/${segment(id)}/place`),
  /** Where the results of two runs differ. */
  compared: (first: string, second: string) => call<Comparison>(`/api/runs/${segment(first)}/compare/${segment(second)}`),
  cancel: (id: string) => call<unknown>(`/api/runs/${segment(id)}`, { method: 'DELETE' }),
  compile: (request: InspectRequest, signal?: AbortSignal) => post<InspectReport>('/api/compile', request, signal),
  /** The kernels of CuPy in a Python text. */
  recognise: (text: string) => post<Recognised>('/api/recognise', { source: { text } }),
  /** A run as a program of one file, with the name that the service gives it. */
  exported: async (id: string, format: ExportFormat): Promise<{ blob: Blob; name: string }> => {
    const response = await answer(`/api/runs/${segment(id)}/export?format=${format}`);
    const named = /filename="?([\w.-]+)"?/.exec(response.headers.get('content-disposition') ?? '')?.[1];
    return { blob: await response.blob(), name: named ?? (format === 'cu' ? 'kernel.cu' : 'kernel.py') };
  },
  upload: (file: Blob) =>
    call<UploadedArray>('/api/uploads', {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: file,
    }),
  devices: () => call<Devices>('/api/devices'),
  examples: () => call<Example[]>('/api/examples'),
  share: (payload: SharePayload, parent: string | null, run: string | null = null) =>
    post<SharedLink>('/api/shares', { payload, ...(parent && { parent }), ...(run && { run }) }),
  sharedLink: (id: string) => call<StoredShare>(`/api/shares/${segment(id)}`),
};

export const eventsUrl = (run: string) => `/api/runs/${segment(run)}/events`;

/** Address of a run's film as .npy, frames first. */
export const filmUrl = (run: string, slice = '') => `/api/runs/${segment(run)}/film.npy${slice && `?slice=${slice}`}`;

/** Address of an output buffer as .npy; `slice` is NumPy basic slicing such as `0:10,::2`. */
export function bufferUrl(run: string, buffer: string, slice = ''): string {
  const query = slice ? `?slice=${slice}` : '';
  return `/api/runs/${segment(run)}/buffers/${segment(buffer)}.npy${query}`;
}
