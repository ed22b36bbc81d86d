import type { NotifyTarget } from '../../base/config/notify-settings.ts';
import { isLoopback } from '../../base/link-local.ts';
import { type Attempt, excerpt, type Send, unanswered } from './deliver.ts';

/** An e-mail, as plain text and as HTML. */
export interface Mail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  /** Pictures that the HTML shows by their content ids. */
  readonly attachments: readonly { readonly filename: string; readonly cid: string; readonly content: Buffer }[];
}

/** Returns the function that sends an e-mail by SMTP. The connection is encrypted, except on loopback. */
export function mailSender(
  { url, mail }: NotifyTarget,
  { id, attachments, ...contents }: Mail & { readonly id: string },
): Send {
  return async (timeoutMs, signal) => {
    const { createTransport } = await import('nodemailer');
    const { to = [], from = '', login = null } = mail ?? {};
    const transport = createTransport({
      host: url.hostname.replace(/^\[|\]$/g, ''),
      ...(url.port === '' ? {} : { port: Number(url.port) }),
      secure: url.protocol === 'smtps:',
      requireTLS: !isLoopback(new URL(`https://${url.host}`)),
      ...(login === null ? {} : { auth: login }),
      // The connection ends soon after the attempt, which does not wait for it.
      ...{ connectionTimeout: timeoutMs, greetingTimeout: timeoutMs, socketTimeout: timeoutMs },
      disableFileAccess: true,
      disableUrlAccess: true,
    });
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      // Equal ids let mailboxes recognize a message that is sent again.
      const sending = transport.sendMail({
        ...contents,
        attachments: [...attachments],
        from,
        to: [...to],
        messageId: `<${id}@sightline>`,
      });
      const { response } = await Promise.race([sending, rejectedBy(AbortSignal.any([signal, deadline]))]);
      return { ...answered(response), isDelivered: true, mayRetry: false };
    } catch (thrown) {
      if (signal.aborted) return unanswered('had not answered when the command was stopped');
      const { code, responseCode, response = '', message } = thrown as SmtpError;
      if (deadline.aborted || code === 'ETIMEDOUT') return unanswered(`did not answer within ${timeoutMs / 1000} s`);
      if (responseCode === undefined) return unanswered(`could not be reached (${excerpt(message)})`);
      // https://www.rfc-editor.org/rfc/rfc5321#section-4.2.1: 4yz is transient, 5yz permanent.
      return { ...answered(response), isDelivered: false, mayRetry: responseCode < 500 };
    } finally {
      transport.close();
    }
  };
}

// A response begins with its status.
function answered(response: string): Pick<Attempt, 'status' | 'said' | 'waitMs'> {
  return { status: Number(response.slice(0, 3)), said: `answered ${excerpt(response)}`, waitMs: 0 };
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const stop = (): void => reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener('abort', stop, { once: true });
  });
}

interface SmtpError extends NodeJS.ErrnoException {
  readonly responseCode?: number;
  readonly response?: string;
}
