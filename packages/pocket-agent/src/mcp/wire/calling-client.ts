// The SDK's client with a short way for calls of tools: its own makes a timer, signals and a schema for each of them.
import {
  type CallToolRequest,
  type CallToolResult,
  Client,
  type JSONRPCMessage,
  type JSONRPCResultResponse,
  ProtocolError,
  type Request,
  type RequestMethod,
  type RequestOptions,
  type ResultTypeMap,
  SdkError,
  SdkErrorCode,
  type StandardSchemaV1,
  specTypeSchemas,
} from '@modelcontextprotocol/client';
import { errorText, Numbered } from '@pocket-agent/kit';
import { checkedToolResult, refuseManyBlocks, textResultOf } from './call-result.ts';
import { Cancellation } from './cancellation.ts';

type Params = CallToolRequest['params'];
type Result = JSONRPCResultResponse['result'];

export interface CallOptions extends Omit<RequestOptions, 'signal'> {
  /**
   * The caller watches the time, and ends the call by this; of the other options only `headers` count before the SDK
   * takes over.
   */
  cancellation: Cancellation;
}

interface Waiting {
  resolve(result: Result): void;
  reject(reason: unknown): void;
}

const method = 'tools/call';
/** The requests of the SDK count from zero. */
const FIRST_ID = 1_000_000_000;

/** A call failed after its server had answered with a question: to send it anew would begin a second one. */
export class BegunCallError extends Error {}

export class CallingClient extends Client {
  readonly #waiting = new Numbered<Waiting>(FIRST_ID);

  async call(params: Params, options: CallOptions): Promise<CallToolResult> {
    const flowStartedAt = Date.now();
    const result = await this.#exchange(params, options);
    refuseManyBlocks(result);
    const text = textResultOf(result, this.getProtocolEra() === 'modern');
    if (text) return text;
    const codec = this._wireCodec();
    const decoded = codec.decodeResult(method, result);
    if (decoded.kind === 'invalid') throw decoded.error;
    if (decoded.kind === 'complete') return checkedToolResult(decoded.result);
    const resultSchema = specTypeSchemas.CallToolResult;
    const { cancellation, ...others } = options;
    const settled = await this._resolveNonCompleteResult(decoded, {
      codec,
      request: { method, params },
      resultSchema,
      options: { ...others, signal: cancellation.signal },
      flowStartedAt,
      retry: (next, again) => super.request({ method, params: next }, resultSchema, again),
    }).catch((cause: unknown) => {
      throw new BegunCallError('The call had begun', { cause });
    });
    return checkedToolResult(settled);
  }

  /** The SDK's `callTool`, which does more for tools that want it, asks by this too. */
  override request<Method extends RequestMethod>(
    request: { method: Method; params?: Record<string, unknown> },
    options?: RequestOptions,
  ): Promise<ResultTypeMap[Method]>;
  override request<Schema extends StandardSchemaV1>(
    request: Request,
    schema: Schema,
    options?: RequestOptions,
  ): Promise<StandardSchemaV1.InferOutput<Schema>>;
  override request(request: Request, given?: StandardSchemaV1 | RequestOptions, options?: RequestOptions) {
    if (!isCall(request) || !given || !('signal' in given) || !given.signal)
      return super.request(request, given as StandardSchemaV1, options); // which of the two it is given it finds out itself
    const { signal, ...others } = given;
    return this.call(request.params, { ...others, cancellation: Cancellation.by(signal) });
  }

  /** Whether it was the answer to one of these calls. Some servers write the number of a request as text. */
  protected answer(message: JSONRPCMessage): boolean {
    if ('method' in message) return false;
    const waiting = this.#waiting.take(Number(message.id));
    if (!waiting) return false;
    if ('result' in message) waiting.resolve(message.result);
    else waiting.reject(ProtocolError.fromError(message.error.code, message.error.message, message.error.data));
    return true;
  }

  protected override _onclose(): void {
    const closed = new SdkError(SdkErrorCode.ConnectionClosed, 'Connection closed');
    for (const { reject } of this.#waiting.list()) reject(closed);
    this.#waiting.clear();
    super._onclose();
  }

  #exchange(params: Params, { cancellation, headers }: CallOptions): Promise<Result> {
    const { transport } = this;
    if (!transport) return Promise.reject(new Error('Not connected'));
    if (cancellation.isCancelled) return Promise.reject(cancellation.reason);
    const envelope = this._outboundMetaEnvelope();
    // where a call has a stream of its own, ending that tells the server
    const isToldByStream = envelope !== undefined && transport.hasPerRequestStream === true;
    const sent = envelope ? { ...params, _meta: { ...envelope, ...params._meta } } : params;
    return new Promise((resolve, reject) => {
      const id = this.#waiting.add({ resolve, reject });
      const fail = (reason: unknown) => {
        this.#waiting.take(id);
        reject(reason);
      };
      cancellation.onCancel((reason) => {
        if (!this.#waiting.take(id)) return;
        reject(reason);
        if (!isToldByStream) this.#tellCancelled(id, reason);
      });
      // of our transports only that over HTTP has streams for calls, and knows this option
      const options = { ...(headers ? { headers } : {}), ...(isToldByStream ? { cancellation } : {}) };
      transport.send({ jsonrpc: '2.0', id, method, params: sent }, options).catch(fail);
    });
  }

  #tellCancelled(requestId: number, reason: unknown): void {
    const params = { requestId, reason: errorText(reason) };
    this.notification({ method: 'notifications/cancelled', params }).catch((error) => this.onerror?.(error));
  }
}

function isCall(request: Request): request is CallToolRequest {
  return request.method === method;
}
