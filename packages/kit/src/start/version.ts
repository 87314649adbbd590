// A constant instead of package.json, because bundles and Workers have no files beside the code.

/** The version of all packages of this repository. The release script writes it. */
export const VERSION = '0.1.0';
