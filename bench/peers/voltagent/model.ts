// A scripted model for VoltAgent, and an agent without memory.
import { type AgentOptions, createVoltAgentObservability } from '@voltagent/core';
import { aiSdkModel } from '../../contenders/ai-sdk-model.ts';
import type { Script } from '../../contenders/script.ts';

/** Version 3 of the interface is the same for the parts used here. */
export function olderModel(script: Script): AgentOptions['model'] {
  return { ...aiSdkModel(script), specificationVersion: 'v3' } as unknown as AgentOptions['model'];
}

const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {}, fatal() {}, child: () => silent };
const nothing = async () => [];
const none = async () => {};

/** No memory and no logs; the records for its console are not stored. */
export const keepingNothing = {
  memory: false as const,
  logger: silent,
  observability: createVoltAgentObservability({
    storage: {
      addSpan: none,
      updateSpan: none,
      getSpan: async () => null,
      getTrace: nothing,
      listTraces: nothing,
      saveLogRecord: none,
      getLogsByTraceId: nothing,
      getLogsBySpanId: nothing,
      queryLogs: nothing,
      deleteOldSpans: async () => 0,
      deleteOldLogs: async () => 0,
      clear: none,
    },
  }),
};
