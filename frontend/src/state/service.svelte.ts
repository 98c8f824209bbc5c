/** What the service offers: its devices and its examples. */
import { api } from '../api/client';
import type { DeviceInfo, Devices, Example } from '../api/types';

const AGAIN_MS = 2000;
/** A worker that is starting is there in a moment. */
const SOON_MS = 300;
const PATIENCE_MS = 10_000;

class Service {
  private patience: ReturnType<typeof setTimeout> | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;

  devices = $state.raw<Devices | null>(null);
  examples = $state.raw<readonly Example[]>([]);
  failure = $state('');
  /** A service that was just started is given a while before its silence is a fault. */
  starting = $state(true);

  /** Where `auto` leads, or the device of that name. */
  device(id: string): DeviceInfo | null {
    const wanted = id === 'auto' ? this.devices?.default : id;
    return this.devices?.devices.find((device) => device.id === wanted) ?? null;
  }

  private again(): void {
    this.timer = undefined;
    void this.load();
  }

  async load(): Promise<void> {
    this.patience ??= setTimeout(() => (this.starting = false), PATIENCE_MS);
    const [devices, examples] = await Promise.allSettled([api.devices(), api.examples()]);
    if (devices.status === 'fulfilled') this.devices = devices.value;
    if (examples.status === 'fulfilled') this.examples = examples.value;
    if (this.devices?.devices.length) this.starting = false;
    const refused = [examples, devices].find((answer) => answer.status === 'rejected');
    this.failure = refused ? String((refused.reason as Error).message) : '';
    // A service that is starting, or restarting, has its devices a moment later.
    if (refused || !this.devices?.devices.length) this.timer ??= setTimeout(() => this.again(), this.starting && !refused ? SOON_MS : AGAIN_MS);
  }
}

export const service = new Service();
