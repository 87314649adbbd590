// Installs the peers, each in its own folder from its lock file.
import { spawnSync } from 'node:child_process';
import { peerFolder, peers } from '../contenders/contenders.ts';

export function installPeers(): void {
  for (const peer of peers) {
    console.log(`installing ${peer}`);
    const { status } = spawnSync('npm', ['ci', '--no-audit', '--no-fund'], { cwd: peerFolder(peer), stdio: 'inherit' });
    if (status !== 0) throw new Error(`npm ci failed in bench/peers/${peer}.`);
  }
}
