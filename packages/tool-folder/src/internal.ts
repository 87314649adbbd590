// Names that the other packages of this repository share with this one. Not public: they may change in any release.
export { describedSchema } from './manifest/described-schema.ts';
export { describeValue } from './manifest/problem.ts';
export { YamlFile } from './manifest/yaml-file.ts';
