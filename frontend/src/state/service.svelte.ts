/** What the service offers: its devices and its examples. */
import { api } from '../api/client';
import type { DeviceInfo, Devices, Example } from '../api/types';

const AGAIN_MS = 4000;

class Service {
  private timer: ReturnType<typeof setTimeout> | undefined;

  devices = $state.raw<Devices | null>(null);
  examples = $state.raw<readonly Example[]>([]);
  failure = $state('');

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
    const [devices, examples] = await Promise.allSettled([api.devices(), api.examples()]);
    if (devices.status === 'fulfilled') this.devices = devices.value;
    if (examples.status === 'fulfilled') this.examples = examples.value;
    const refused = [examples, devices].find((answer) => answer.status === 'rejected');
    this.failure = refused ? String((refused.reason as Error).message) : '';
    // A service that is starting, or restarting, has its devices a moment later.
    if (refused || !this.devices?.devices.length) this.timer ??= setTimeout(() => this.again(), AGAIN_MS);
  }
}

export const service = new Service();
