// The SDK's client with a short way for calls of tools: its own makes a timer, signals and a schema for each of them.
import {
  type CallToolRequest,
  type CallToolResult,
  Client,
  type JSONRPCMessage,
  type JSONRPCResultResponse,
  ProtocolError,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client';
import { checkedToolResult, textResultOf, toolResult } from './call-result.ts';

type Params = CallToolRequest['params'];
type Result = JSONRPCResultResponse['result'];

interface Waiting {
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

const method = 'tools/call';
/** The requests of the SDK count from zero. */
const FIRST_ID = 1_000_000_000;

export class CallingClient extends Client {
  readonly #waiting = new Map<unknown, Waiting>();
  #nextId = FIRST_ID;

  /** How long it takes is for the caller to watch, who may end it by the signal. */
  async call(params: Params, options: RequestOptions & { signal: AbortSignal }): Promise<CallToolResult> {
    const flowStartedAt = Date.now();
    const result = await this.#exchange(params, options.signal);
    const text = textResultOf(result, this.getProtocolEra() === 'modern');
    if (text) return text;
    const codec = this._wireCodec();
    const decoded = codec.decodeResult(method, result);
    if (decoded.kind === 'invalid') throw decoded.error;
    if (decoded.kind === 'complete') return checkedToolResult(decoded.result);
    const settled = await this._resolveNonCompleteResult(decoded, {
      codec,
      request: { method, params },
      resultSchema: toolResult,
      options,
      flowStartedAt,
      retry: (next, again) => this.request({ method, params: next }, toolResult, again),
    });
    return checkedToolResult(settled);
  }

  /** Whether it was the answer to one of these calls. */
  protected answer(message: JSONRPCMessage): boolean {
    const waiting = 'method' in message ? undefined : this.#waiting.get(message.id);
    if (!waiting || 'method' in message) return false;
    this.#waiting.delete(message.id);
    if ('result' in message) waiting.resolve(message.result);
    else waiting.reject(ProtocolError.fromError(message.error.code, message.error.message, message.error.data));
    return true;
  }

  protected override _onclose(): void {
    const closed = new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed');
    for (const { reject } of this.#waiting.values()) reject(closed);
    this.#waiting.clear();
    super._onclose();
  }

  #exchange(params: Params, signal: AbortSignal): Promise<Result> {
    const { transport } = this;
    if (!transport) return Promise.reject(new Error('Not connected'));
    const id = this.#nextId++;
    const envelope = this._outboundMetaEnvelope();
    // where a call has a stream of its own, ending that tells the server
    const isToldByStream = envelope !== undefined && transport.hasPerRequestStream === true;
    const sent = envelope ? { ...params, _meta: { ...envelope, ...params._meta } } : params;
    return new Promise((resolve, reject) => {
      const fail = (reason: unknown) => {
        this.#waiting.delete(id);
        reject(reason);
      };
      const cancel = () => {
        if (!this.#waiting.has(id)) return;
        fail(signal.reason);
        if (!isToldByStream) this.#tellCancelled(id, signal.reason);
      };
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      this.#waiting.set(id, { resolve, reject });
      signal.addEventListener('abort', cancel, { once: true });
      const options = isToldByStream ? { requestSignal: signal } : undefined;
      transport.send({ jsonrpc: '2.0', id, method, params: sent }, options).catch(fail);
    });
  }

  #tellCancelled(requestId: number, reason: unknown): void {
    const params = { requestId, reason: String(reason) };
    this.notification({ method: 'notifications/cancelled', params }).catch((error) => this.onerror?.(error));
  }
}
