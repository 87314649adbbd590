// Reads manifest.yaml and reports every problem with its line and column.
import { describedManifest, type Manifest } from './manifest-schema.ts';
import { YamlFile } from './yaml-file.ts';

/** A parsed manifest that knows the position of every value. */
export class ManifestFile extends YamlFile<Manifest> {
  constructor(file: string, text: string) {
    super({ file, text, schema: describedManifest });
  }

  /** Undefined if the manifest does not match its schema. */
  get manifest(): Manifest | undefined {
    return this.value;
  }
}
