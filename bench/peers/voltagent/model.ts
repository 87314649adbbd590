// A scripted model for VoltAgent, and an agent without memory.
import { type AgentOptions, createVoltAgentObservability } from '@voltagent/core';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';
import type { Script } from '../../contenders/script.ts';

/** VoltAgent uses version 3 of the interface, which is the same for the parts that the script uses. */
export function olderModel(script: Script): AgentOptions['model'] {
  return { ...aiSdkModel(script), specificationVersion: 'v3' } as unknown as AgentOptions['model'];
}

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {}, child: () => silent };
const noRecords = async () => [];
const ignore = async () => {};

/** Options for an agent without memory and logs, which does not store records for VoltAgent's console. */
export const withoutMemory = {
  memory: false as const,
  logger: silent,
  observability: createVoltAgentObservability({
    storage: {
      addSpan: ignore,
      updateSpan: ignore,
      getSpan: async () => null,
      getTrace: noRecords,
      listTraces: noRecords,
      saveLogRecord: ignore,
      getLogsByTraceId: noRecords,
      getLogsBySpanId: noRecords,
      queryLogs: noRecords,
      deleteOldSpans: async () => 0,
      deleteOldLogs: async () => 0,
      clear: ignore,
    },
  }),
};
