// Errors in the format of Mattermost, and those shared by many endpoints.

export class ApiError extends Error {
  readonly status: number;
  readonly id: string;
  readonly detail: string;

  constructor(status: number, id: string, { message = '', detail = '' }: { message?: string; detail?: string } = {}) {
    super(message || id);
    this.status = status;
    this.id = id;
    this.detail = detail;
  }

  toJson(requestId: string): Record<string, string | number> {
    return {
      id: this.id,
      message: this.message,
      detailed_error: this.detail,
      request_id: requestId,
      status_code: this.status,
    };
  }
}

export function invalidBody(name: string): ApiError {
  const message = `Invalid or missing ${name} in request body.`;
  return new ApiError(400, 'api.context.invalid_body_param.app_error', { message });
}

export function invalidUrl(name: string): ApiError {
  const message = `Invalid or missing ${name} parameter in request URL.`;
  return new ApiError(400, 'api.context.invalid_url_param.app_error', { message });
}

export function forbidden(permission: string): ApiError {
  return new ApiError(403, 'api.context.permissions.app_error', {
    message: 'You do not have the appropriate permissions.',
    detail: `permission=${permission}`,
  });
}

export function notFound(id: string, message: string): ApiError {
  return new ApiError(404, id, { message });
}

export function sessionExpired(): ApiError {
  return new ApiError(401, 'api.context.session_expired.app_error', {
    message: 'Invalid or expired session, please login again.',
  });
}

/** A feature that the license does not include. Its message is not translated. */
export function unlicensed(id = 'license_error.feature_unavailable'): ApiError {
  const detail = 'feature is not available for the current license';
  return new ApiError(501, id, { message: 'Feature is not available for the current license', detail });
}
