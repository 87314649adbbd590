// The A2A SDK is an optional package: it is loaded by whoever first needs it, and its absence is explained.
import { errorText, PocketError } from '../kit/errors.ts';

export async function withSdk<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  try {
    return await load();
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND';
    if (!isMissing || !errorText(error).includes('@a2a-js/sdk')) throw error;
    throw new PocketError('CONFIG_INVALID', 'A2A needs the package @a2a-js/sdk: npm i @a2a-js/sdk', { cause: error });
  }
}
