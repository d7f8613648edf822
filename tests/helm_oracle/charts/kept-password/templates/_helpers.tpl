{{- define "database.password" -}}
{{- $secret := lookup "v1" "Secret" .Release.Namespace .Release.Name -}}
{{- if .Values.password -}}
{{- .Values.password -}}
{{- else if and $secret (index $secret.data "password") -}}
{{- index $secret.data "password" | b64dec -}}
{{- else -}}
{{- randAlphaNum 16 -}}
{{- end -}}
{{- end -}}
